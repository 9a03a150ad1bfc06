"""Records and recommendations in the form that the page shows them in."""
