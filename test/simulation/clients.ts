/** The clients of an endpoint, which share its jobs and may end at any moment. */
import type { Api } from "../torture/api.ts";
import { type ClientOptions, useEndpoint } from "../torture/clients.ts";
import type { Participants, Schedule } from "./schedule.ts";

interface Clients {
	/** Each ends when its client has finished or left. */
	clients: Promise<void>[];
	/** Each ends a client. */
	leavers: (() => void)[];
}

/** Each starts with job 0 of its own; then they take the jobs of their endpoint. */
export function startClients(
	{ endpoint, clients: count }: Participants,
	jobs: Schedule["jobs"],
	o: Omit<ClientOptions, "nextNumber">,
): Clients {
	const left = jobs.filter((job) => job.endpoint === endpoint);
	const submitting = new AbortController();
	if (left.length === 0) submitting.abort();
	const clients: Promise<void>[] = [];
	const leavers: (() => void)[] = [];
	for (let n = 0; n < count; n += 1) {
		let first = true;
		const nextNumber = (): number => {
			if (first) {
				first = false;
				return 0;
			}
			const { n: number } = left.shift()!;
			if (left.length === 0) submitting.abort();
			return number;
		};
		const { api, leave, left: hasLeft } = mortal(o.api);
		const name = `${endpoint}-client-${n}`;
		const use = useEndpoint(name, endpoint, { ...o, api, nextNumber }, submitting.signal);
		leavers.push(leave);
		clients.push(Promise.race([use, hasLeft]));
	}
	return { clients, leavers };
}

/** The requests of a client that may end at any moment: it gets no answer from then on. */
function mortal(api: Api): { api: Api; leave: () => void; left: Promise<void> } {
	const end = new AbortController();
	const left = Promise.withResolvers<void>();
	const never = new Promise<never>(() => {});
	return {
		api: {
			...api,
			call: (url, call) => (end.signal.aborted ? never : api.call(url, { ...call, signal: end.signal })),
			open: (url, headers) => (end.signal.aborted ? never : api.open(url, headers)),
		},
		leave() {
			end.abort();
			left.resolve();
		},
		left: left.promise,
	};
}
