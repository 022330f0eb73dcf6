import runpod


def handler(job):
    name = job["input"].get("name", "world")
    # Shown as the job's output while it runs.
    runpod.serverless.progress_update(job, "greeting")
    return {"greeting": f"Hello, {name}!"}


# A generator function instead of a function streams what it yields.
runpod.serverless.start({"handler": handler})
