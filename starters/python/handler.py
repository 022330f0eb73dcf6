from worker import progress, start


def handler(job):
    name = job["input"].get("name", "world")
    # Shown as the job's output while it runs.
    progress(job, "greeting")
    return {"greeting": f"Hello, {name}!"}


# A generator function streams what it yields.
start(handler)
