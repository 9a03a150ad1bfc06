"""What a client can call: tool declarations and what they are given to work with. Knows no transport."""
