"""Judoka cards of JU-DO-KON!, techniques, and passages of documentation and code patterns."""
