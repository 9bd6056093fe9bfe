"""Programs that follow and steer jobs: the HTTP client, sync and async, and the local server's starter."""
