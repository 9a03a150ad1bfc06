"""What tests share: servers, clients, libraries and embedders. Imported as `support`."""
