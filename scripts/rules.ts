/**
 * Every rule that the service keeps, by the id with which titles of tests begin. `spec 2.4` is a
 * section of the specification, and in the sections 3, 5 and 8 the number behind the point is that
 * of a rule; a section's tables belong to the section. `D16` is a decision of the product where the
 * specification is silent. `npm run reference` makes a page of them with the tests that show them;
 * it fails for a title that names an unknown rule, and for a rule without a test.
 */

/** One rule. */
export interface Rule {
	id: string;
	/** In our own words, one sentence. */
	says: string;
	/** What of it is not there yet. */
	notYet?: string;
}

export const RULES: readonly Rule[] = [
	{
		id: "spec 1",
		says: "Input reaches the worker as it was sent, output comes back as it was made.",
	},
	{
		id: "spec 2.1",
		says: "The id in the path names the endpoint, whose workersMax the queue rule uses.",
	},
	{
		id: "spec 2.2",
		says: "A job shows its id, its state, its two times in ms and, once it has completed, its output.",
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
		says: "Cancel and retry answer id and state, purge-queue the number removed and completed.",
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
	{ id: "spec 3.3", says: "A ttl asked for with /status shortens how long the result is kept." },
	{ id: "spec 4", says: "Each operation has its method, its path and its shape of answer." },
	{ id: "spec 5", says: "Every request is identified before anything is done or told." },
	{
		id: "spec 5.1",
		says: "The key comes in the Authorization header, with the word Bearer or bare.",
	},
	{ id: "spec 5.2", says: "Requests from the web console need no key." },
	{ id: "spec 5.3", says: "A wrong key, or one without the permission, is 401." },
	{ id: "spec 5.4", says: "An unknown endpoint is 404." },
	{
		id: "spec 6",
		says: "A job with a webhook is POSTed to it at its end; only 200 acknowledges, and two more tries follow, 10 s apart.",
	},
	{ id: "spec 7", says: "What is refused has the status of its kind: 400, 401, 404, 429 or 500." },
	{
		id: "spec 8",
		says: "Rates, concurrency and sizes are bounded for each endpoint and operation as the tables say.",
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
		says: "Each refusal has its fixed status, keys are checked before endpoints, and no error has a status or id member.",
	},
	{
		id: "D4",
		says: "A body is read as JSON whatever its type says; unknown members are passed over, null means absent, and what would choke a worker is refused.",
	},
	{ id: "D5", says: "Input and output pass as text, byte for byte." },
	{
		id: "D6",
		says: "The job object has whole numbers, errors as text, and times that grow while the job waits or runs.",
	},
	{
		id: "D7",
		says: "A stream delivers each chunk once, in the form that its caller understands, across crashes and losses.",
	},
	{
		id: "D8",
		says: "Waiting calls hold as long as asked within bounds, then tell how the job stands; hanging up changes nothing.",
	},
	{
		id: "D9",
		says: "Retention counts from the end and is only ever shortened; expiry erases, and a record stays for operators.",
	},
	{ id: "D10", says: "Cancelling a job that has ended answers the state it has." },
	{ id: "D11", says: "A purge removes what waits at once and for good, and tells who waited." },
	{ id: "D12", says: "The list of jobs comes newest first, in pages, without outputs." },
	{
		id: "D13",
		says: "Health counts totals since the endpoint was made, the present, and workers by what they do.",
	},
	{ id: "D14", says: "A submission under an idempotency key happens once in 24 h." },
	{ id: "D15", says: "Deadlines hold at the moment they pass, whoever looks and however late." },
	{ id: "D16", says: "A job runs at least once, under a lease, and no old attempt can change it." },
	{ id: "D17", says: "Nothing is acknowledged before it is on disk." },
	{ id: "D18", says: "Cancel and timeout really stop the work, and say so when they cannot." },
	{
		id: "D19",
		says: "A result that cannot be kept fails its job with the reason, and is never lost in silence.",
	},
	{ id: "D20", says: "Jobs of low priority come last and start no worker." },
	{
		id: "D21",
		says: "Webhooks are stored with the end of the job, signed, tried three times, kept, and sent to no private address.",
	},
	{ id: "D22", says: "Storage secrets are sealed at rest and leave for the worker alone." },
	{
		id: "D23",
		says: "The queue rule is exact and spares jobs that return after a loss.",
		notYet: "PostgreSQL",
	},
	{
		id: "D24",
		says: "Each operation has its own budget over a sliding 10 s and for requests in flight.",
		notYet: "limits over several servers",
	},
	{
		id: "D25",
		says: "Workers come by HTTP; a launcher only starts and stops processes.",
		notYet: "the launcher for Kubernetes",
	},
	{
		id: "D26",
		says: "A worker's token is good for its endpoint and worker id, and refused polls are slowed.",
	},
	{
		id: "D27",
		says: "Endpoint settings have RunPod's names, with bounds and defaults.",
		notYet: "both kinds of scaler: one worker is added at a time",
	},
	{ id: "D28", says: "Scaling down never stops a busy worker, and crash loops back off." },
	{ id: "D29", says: "Every waiting job has a reason that can be asked for." },
	{
		id: "D30",
		says: "Keys are random, told once, kept as hashes, and limited by scope and endpoint.",
	},
	{ id: "D31", says: "The console signs in with a key once and then uses a cookie." },
	{
		id: "D32",
		says: "OpenAI's API becomes jobs, and answers in its own form, streams and errors included.",
	},
	{
		id: "D33",
		says: "The demo, the start and the tests are one command each on a fresh checkout.",
	},
	{
		id: "D34",
		says: "serve takes its options, drains on a signal, and takes its workers over at the next start.",
		notYet: "PostgreSQL",
	},
	{ id: "D35", says: "sluice.yaml describes endpoints and the service, with every fault named." },
	{
		id: "D36",
		says: "Commands manage a running service and print what a worker needs.",
		notYet: "dev, doctor, jobs submit",
	},
	{ id: "D37", says: "A retry starts anew at the end of the queue, and keeps what was submitted." },
	{
		id: "D38",
		says: "OPTIONS needs no key, and pages of other origins may call the clients' paths alone.",
	},
	{ id: "D39", says: "The operators' paths have fixed shapes." },
	{
		id: "D40",
		says: "Health of the process, readiness and a full disk are told apart, and what happens is counted.",
	},
];
