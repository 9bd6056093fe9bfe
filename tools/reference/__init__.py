"""One module per generated page of docs/reference: each reads the code and returns the page's text."""
