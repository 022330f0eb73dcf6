/**
 * Posts results: those of one turn of the event loop together where the service takes them so,
 * which it says with each take of several jobs (`Sluice-Job-Done-Batch`), and one by one everywhere
 * else, as RunPod's SDK does.
 */
import type { PostOutcome, ResultPoster } from "./result-poster.ts";
import type { UrlTemplate } from "../url-template.ts";

/** Where results go. */
export interface Results {
	/** Posts the result of a job. Never rejects. */
	send(id: string, body: string, isStream: boolean): Promise<PostOutcome>;
	/** The service takes so many together. */
	together(most: number): void;
}

/**
 * What {@link openResults} needs; `batchPath` is absent where the address of job-done tells none.
 */
export interface ResultsOptions {
	posts: ResultPoster;
	output: UrlTemplate;
	batchPath: string | undefined;
}

/** Longer results go alone, and no more than this together, characters. */
const LONGEST = 16_384;
const MOST_TOGETHER = 262_144;

interface Gathered {
	id: string;
	body: string;
	isStream: boolean;
	resolve: (outcome: PostOutcome) => void;
}

export function openResults({ posts, output, batchPath }: ResultsOptions): Results {
	let path = batchPath;
	let most = 0;
	let waiting: Gathered[] = [];

	const alone = (id: string, body: string, isStream: boolean): Promise<PostOutcome> =>
		posts.send(output.path(id, isStream ? "isStream=true" : "isStream=false"), body);

	function go(): void {
		const all = waiting;
		waiting = [];
		for (let start = 0; start < all.length; ) {
			let length = 0;
			const cut = all.findIndex(
				({ body }, at) =>
					at >= start &&
					(at - start >= most || (length += body.length) > MOST_TOGETHER) &&
					at > start,
			);
			const end = cut < 0 ? all.length : cut;
			void post(all.slice(start, end));
			start = end;
		}
	}

	async function post(group: readonly Gathered[]): Promise<void> {
		const byItself = ({ id, body, isStream, resolve }: Gathered): void =>
			void alone(id, body, isStream).then(resolve);
		if (group.length === 1 || path === undefined) return group.forEach(byItself);
		const answer = await posts.ask(path, group.map(lineOf).join("\n"));
		const statuses =
			answer instanceof Error || answer.status !== 200
				? undefined
				: statusesIn(answer.text, group.length);
		// A line may be refused for its form, a result never is (D19): job-done has the last word.
		if (statuses)
			return group.forEach((each, at) =>
				statuses[at]! >= 400 && statuses[at]! < 500 ? byItself(each) : each.resolve(statuses[at]!),
			);
		const outcome = answer instanceof Error ? answer : answer.status;
		// What is no fault of the moment, such as a service that was replaced by another one, is no
		// fault of the results either.
		if (outcome instanceof Error || outcome >= 500)
			return group.forEach(({ resolve }) => resolve(outcome));
		path = undefined;
		group.forEach(byItself);
	}

	return {
		send(id, body, isStream) {
			if (path === undefined || most < 2 || body.length > LONGEST || body.includes("\n"))
				return alone(id, body, isStream);
			return new Promise((resolve) => {
				if (waiting.length === 0) setImmediate(go);
				waiting.push({ id, body, isStream, resolve });
			});
		},
		together: (told) => void (most = told),
	};
}

/** The body, an object, with the job's id in it. */
function lineOf({ id, body }: Gathered): string {
	return `{"id":${JSON.stringify(id)}${body === "{}" ? "" : ","}${body.slice(1)}`;
}

/** The status of each; undefined when the answer is none of ours. */
function statusesIn(text: string, count: number): number[] | undefined {
	try {
		const statuses: unknown = JSON.parse(text);
		return Array.isArray(statuses) &&
			statuses.length === count &&
			statuses.every((status) => typeof status === "number")
			? (statuses as number[])
			: undefined;
	} catch {
		return undefined;
	}
}
