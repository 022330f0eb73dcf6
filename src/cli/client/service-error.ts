/** Errors of the service in the words of the command line. */

const WORDS: readonly (readonly [RegExp, string])[] = [
	[/ Send the header 'Authorization: Bearer <API key>'\./, ""],
	[/Change it with PATCH \/v1\/endpoints\/([^,\s]+),/, "Change it with 'sluice endpoints update $1',"],
	[/set all of them with PUT \/v1\/endpoints\/[^/\s]+\./, "set all of them with 'sluice apply'."],
	[/GET \/v1\/endpoints\/([^/\s]+)\/workers lists/, "'sluice workers list $1' lists"],
	[/GET \/v1\/endpoints\/([^/\s]+)\/releases lists/, "'sluice releases list $1' lists"],
	[/Create it with POST \/v2\/account\/secrets\./, "Create it with 'sluice secrets set'."],
	[/Change it with PATCH \/v2\/account\/secrets\/ID,/, "Change it with 'sluice secrets set',"],
	[/: GET \/v1\/backup shows how far it is\./, "."],
	[/GET \/v1\/([a-z]+) lists/, "'sluice $1 list' lists"],
	[/Try again after the time in Retry-After, then with exponential backoff\./, "Try again later."],
	[/Try again later with exponential backoff,/, "Try again later,"],
	[/Try again after the time in Retry-After\./, "Try again later."],
	[/, or send it with its Idempotency-Key\./, "."],
	[/The Idempotency-Key was used/, "The idempotency key was used"],
	[/of this Idempotency-Key/, "of this idempotency key"],
];

interface ErrorBody {
	/** A sentence; an object with it in OpenAI's form (D32). */
	error?: unknown;
	code?: unknown;
	details?: { field: string; message: string }[];
	/** Sentence of problem details (D49). */
	detail?: unknown;
	errors?: string[];
}

export function serviceError(body: unknown, { status, keyFrom }: { status: number; keyFrom: string }): string {
	const { code, detail, error = detail, details = [], ...rest } = ownForm(body);
	if (typeof error !== "string") return `The service answered with status ${status}.`;
	if (code === "unauthorized" && error.startsWith("The API key is unknown"))
		return `Invalid API key: check ${keyFrom}${keyFrom === "SLUICE_API_KEY" ? " or --key" : ""}.`;
	const sentence = inCommandWords(error);
	const { errors: faults = details.map(({ field, message }) => `${field} ${message}`) } = rest;
	return faults.length < 2
		? sentence
		: [sentence.replace(/: .*$/s, ":"), ...faults.map((fault) => `- ${fault}`)].join("\n");
}

/** Undefined for an answer that is not an error of the service. */
export function errorCode(body: unknown): string | undefined {
	const { code } = ownForm(body);
	return typeof code === "string" ? code : undefined;
}

function ownForm(body: unknown): ErrorBody {
	const own = (body ?? {}) as ErrorBody;
	if (typeof own.error !== "object" || own.error === null) return own;
	const { message, code } = own.error as { message?: unknown; code?: unknown };
	return { error: message, code };
}

export function inCommandWords(sentence: string): string {
	return WORDS.reduce((text, [pattern, words]) => text.replace(pattern, words), sentence);
}
