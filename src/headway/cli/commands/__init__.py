"""One module per command or group of commands: reads the arguments, calls the client or the runner, prints what came back."""
