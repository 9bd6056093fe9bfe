"""Everything that crosses a wire, as frozen dataclasses of the standard library. No I/O, no third-party module.

``report`` is what a training process says; ``job`` what Headway says of it; ``verdict`` the closed lists of what numbers
can mean; ``history`` points and series; ``lifecycle`` what a runner tells; ``directive`` what a run is asked;
``problem`` errors; ``kubeflow`` the shapes of Kubeflow Trainer's status request; ``codec`` turns all into JSON and back.
"""
