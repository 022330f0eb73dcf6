"""What a worker or server of these benchmarks notes: lines of JSON in the file NOTES."""
import json
import os
import time


class Notes:
    """`who`: members of every line."""

    def __init__(self, **who):
        self.who = who

    def note(self, event, **rest):
        with open(os.environ["NOTES"], "a", encoding="utf-8") as file:
            file.write(json.dumps({"at": int(time.time() * 1000), "event": event, **self.who, **rest}) + "\n")

    def timed(self, event, run):
        """Notes how long it took, or what failed."""
        began = time.monotonic()
        try:
            result = run()
        except Exception as error:
            self.note("failed", what=event, error=str(error))
            raise
        self.note(event, ms=int(1000 * (time.monotonic() - began)))
        return result
