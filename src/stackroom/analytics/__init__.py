"""Events of use, and reports over them."""
