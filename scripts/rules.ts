/**
 * Every rule that the service keeps, by the id with which titles of tests begin. `spec 2.4` is a
 * section of the specification; in the sections 3, 5 and 8 the number after the point is that of a
 * rule, and a section's tables belong to the section. `D16` is a section of docs/behaviour.md.
 * `npm run reference` generates a page of the rules with their tests; it fails for a title that
 * names an unknown rule, and for a rule without a test.
 */

/** One rule. */
export interface Rule {
	id: string;
	/** One sentence. */
	says: string;
}

export const RULES: readonly Rule[] = [
	{
		id: "spec 1",
		says: "Input reaches the worker as it was sent; output is returned as the worker produced it.",
	},
	{
		id: "spec 2.1",
		says: "The id in the path names the endpoint, whose workersMax the queue rule uses.",
	},
	{
		id: "spec 2.2",
		says: "A job has an id, a state, two times in ms and, once it has completed, its output.",
	},
	{
		id: "spec 2.3",
		says: "A submission has an input that is an object; webhook, policy and s3Config are optional.",
	},
	{
		id: "spec 2.4",
		says: "A policy sets execution timeout, ttl and low priority, each within its bounds and with its default.",
	},
	{ id: "spec 2.5", says: "The storage settings go to the worker and into no answer." },
	{
		id: "spec 2.6",
		says: "Health has five counts of jobs and at least the idle and running workers.",
	},
	{
		id: "spec 2.7",
		says: "A stream is an array of chunks with output and metrics, none over 1 MB.",
	},
	{
		id: "spec 2.8",
		says: "Cancel and retry answer id and state; purge-queue answers the number removed and 'completed'.",
	},
	{
		id: "spec 3",
		says: "A job moves between its six states as the table says, and in no other way.",
	},
	{
		id: "spec 3.1",
		says: "Only a failed or timed-out job can be retried; it keeps its id and its input.",
	},
	{
		id: "spec 3.2",
		says: "Results are kept 30 minutes for /run and 60 seconds for /runsync; an expired one cannot be retried.",
	},
	{ id: "spec 3.3", says: "A ttl given to /status shortens the time that the result is kept." },
	{ id: "spec 4", says: "Each operation has its method, its path and its form of answer." },
	{ id: "spec 5", says: "Every request is authenticated before anything is done or answered." },
	{
		id: "spec 5.1",
		says: "The key comes in the Authorization header, with the word Bearer or bare.",
	},
	{ id: "spec 5.2", says: "Requests from the web console need no key." },
	{ id: "spec 5.3", says: "A wrong key, or one without the permission, is 401." },
	{ id: "spec 5.4", says: "An unknown endpoint is 404." },
	{
		id: "spec 6",
		says: "The end of a job is POSTed to its webhook; only 200 acknowledges; two more attempts, 10 s apart.",
	},
	{
		id: "spec 7",
		says: "A refused request has the status of its kind: 400, 401, 404, 429 or 500.",
	},
	{
		id: "spec 8",
		says: "Rates, concurrency and sizes are limited for each endpoint and operation as the tables say.",
	},
	{ id: "spec 8.1", says: "Beyond a rate or concurrency limit the answer is 429." },
	{
		id: "spec 8.2",
		says: "A submission is refused with 429 while over 50 and over workersMax times 500 jobs wait.",
	},
	{ id: "spec 9", says: "Paths of clients begin with the version, /v2." },
	{ id: "D1", says: "Every success on the clients' paths is exactly 200." },
	{
		id: "D2",
		says: "Every error is JSON with a sentence and a code, and for bad fields with details of each.",
	},
	{
		id: "D3",
		says: "Each refusal has a fixed status, keys come before endpoints, no error has a status or id member.",
	},
	{
		id: "D4",
		says: "A body is JSON whatever its type; unknown members are ignored, null is absent, too deep JSON refused.",
	},
	{ id: "D5", says: "Input and output pass as text, byte for byte." },
	{
		id: "D6",
		says: "The job object has integers, errors as strings, and times that grow while the job waits or runs.",
	},
	{
		id: "D7",
		says: "A stream delivers each chunk once, in the form that its caller understands, across crashes and losses.",
	},
	{
		id: "D8",
		says: "Waiting calls last as long as requested within bounds; a disconnect changes nothing.",
	},
	{
		id: "D9",
		says: "Retention counts from the end and is only shortened; expiry deletes payloads, a record stays.",
	},
	{ id: "D10", says: "Cancelling a job that has ended answers the state it has." },
	{
		id: "D11",
		says: "A purge removes all waiting jobs in one step and answers their waiting callers.",
	},
	{ id: "D12", says: "The list of jobs is newest first, in pages, without outputs." },
	{
		id: "D13",
		says: "Health has totals since the endpoint was created, current counts, and workers by what they do.",
	},
	{ id: "D14", says: "A submission with an idempotency key takes effect once in 24 h." },
	{ id: "D15", says: "Deadlines take effect when they pass, however late they are noticed." },
	{
		id: "D16",
		says: "A job runs at least once, under a lease, and no earlier attempt can change it.",
	},
	{ id: "D17", says: "Nothing is acknowledged before it is durable." },
	{
		id: "D18",
		says: "Cancel and timeout stop the work itself, and the record says when that is not confirmed.",
	},
	{
		id: "D19",
		says: "A result that cannot be stored fails its job with the reason and is never dropped silently.",
	},
	{ id: "D20", says: "Jobs of low priority are taken last and start no worker." },
	{
		id: "D21",
		says: "Webhooks are stored with the job's end, signed, attempted three times, sent to no private address.",
	},
	{
		id: "D22",
		says: "Storage secrets are encrypted in the store and are sent to the worker only.",
	},
	{
		id: "D23",
		says: "The queue limit applies to every submission and spares jobs that return after a loss.",
	},
	{
		id: "D24",
		says: "Each operation has its own limits over a sliding 10 s and for requests in flight, shared by all servers.",
	},
	{ id: "D25", says: "Workers fetch jobs over HTTP; a launcher only starts and stops them." },
	{
		id: "D26",
		says: "A worker's token is valid for its endpoint and worker id, and refused polls are slowed down.",
	},
	{
		id: "D27",
		says: "Endpoint settings have RunPod's names, bounds and defaults; both scalers stay within them.",
	},
	{ id: "D28", says: "Scaling down never stops a busy worker, and crash loops back off." },
	{ id: "D29", says: "Every waiting job has a reason, which the API returns." },
	{
		id: "D30",
		says: "Keys are random, shown once, stored as hashes, and limited by scope and endpoint.",
	},
	{ id: "D31", says: "The console signs in with a key once and then uses a cookie." },
	{
		id: "D32",
		says: "Requests of OpenAI's API become jobs, answered in OpenAI's form, streams and errors included.",
	},
	{
		id: "D33",
		says: "The demo, the start and the tests are one command each on a fresh checkout.",
	},
	{
		id: "D34",
		says: "serve reads its options, drains on a signal, and takes over its workers at the next start.",
	},
	{
		id: "D35",
		says: "sluice.yaml describes endpoints and the service; every fault in it is reported.",
	},
	{
		id: "D36",
		says: "Commands run a handler, manage a service, submit jobs, check a set-up, print what a worker needs.",
	},
	{ id: "D37", says: "A retry puts the job at the end of the queue and keeps what was submitted." },
	{
		id: "D38",
		says: "OPTIONS needs no key, and pages of other origins may call the clients' paths only.",
	},
	{ id: "D39", says: "The management API has fixed shapes." },
	{
		id: "D40",
		says: "Liveness, readiness, an unavailable store and a full disk are distinguished; metrics are exported.",
	},
	{
		id: "D41",
		says: "What callers may hold or use of a server is bounded by budgets, metered and configurable.",
	},
	{
		id: "D42",
		says: "Changes by administrators are recorded in an append-only audit log.",
	},
	{
		id: "D43",
		says: "What jobs have stored is bounded in bytes, for each endpoint, each stream and the whole store.",
	},
	{
		id: "D44",
		says: "Workers are placed on Docker hosts; an unreachable host ends no worker, a lost one is replaced.",
	},
	{
		id: "D45",
		says: "Images are pulled by policy, with progress and reasons; logins to registries are encrypted.",
	},
	{
		id: "D46",
		says: "A backup has all that was acknowledged before it; what is incomplete or changed is refused.",
	},
	{
		id: "D47",
		says: "Ended workers stay listed with how they ended and their last lines; endpoints have a health.",
	},
	{
		id: "D48",
		says: "What workers use of their machine is shown where that is cheap to know.",
	},
	{
		id: "D49",
		says: "RunPod's management API v2 works at /v2/serverless and beside it, with its codes and problem details.",
	},
	{
		id: "D50",
		says: "A change of what workers are launched with is a version: old ones stay until it is healthy.",
	},
	{
		id: "D51",
		says: "Every request has an id, in its answer, the logs and with its job; the log can be read, and has no secret.",
	},
	{
		id: "D52",
		says: "A client's trace goes through queue, worker and webhook; OTEL_ variables have spans exported.",
	},
	{
		id: "D53",
		says: "The service evaluates the alert rules itself; with several servers each receiver gets one message.",
	},
	{
		id: "D54",
		says: "A worker can return its job to the front of the queue, ten times without a loss, with the reason.",
	},
	{
		id: "D55",
		says: "The number of the run grows with each retry only, and is sent to workers that ask for it.",
	},
	{
		id: "D56",
		says: "Files are stored and read with OpenAI's API; one exists with all its bytes or not, within bounds.",
	},
	{
		id: "D57",
		says: "Each request of a batch is a job, and its outcome is in one of the batch's files exactly once.",
	},
	{
		id: "D58",
		says: "A background response is a job: it ends once, its events can be resumed, its end can be sent.",
	},
	{
		id: "D59",
		says: "S3 clients store objects, whole or not at all, each endpoint with credentials and buckets of its own.",
	},
	{
		id: "D60",
		says: "Workers of an endpoint with files store them; each job shows its own, and pictures are links on request.",
	},
	{
		id: "D61",
		says: "A bucket of the operator can have the bytes of files: whole or not at all, with bounds, and no other place.",
	},
	{
		id: "D62",
		says: "A video is a job: it ends once, a failed one is answered with 200, and its bytes are those of its worker.",
	},
];
