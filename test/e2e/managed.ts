/** A service as a process and the command line that manages it. */
import { expect, type TestContext } from "vitest";
import { KEY, type ServiceProcess } from "../support/service.ts";
import { sluice } from "./command.ts";
import { site, type Site } from "./site.ts";

type Ended = Awaited<ReturnType<typeof sluice>>;

/** Both, for one test. */
export interface Managed {
	place: Site;
	service: ServiceProcess;
	/** The folder in which commands run. */
	cwd: string;
	/** Runs `sluice` against the service with the admin key. */
	ask(...args: string[]): Promise<Ended>;
	/** As {@link ask}, with another key. */
	as(key: string, ...args: string[]): Promise<Ended>;
	/** What a command that must succeed says on stdout. */
	stdoutOf(...args: string[]): Promise<string>;
}

/** Starts a service with these endpoints; it ends with the test. */
export async function managed(
	test: TestContext,
	endpoints: (place: Site) => Record<string, object> = () => ({}),
	args?: readonly string[],
): Promise<Managed> {
	const place = site(test);
	const service = await place.serve({ endpoints: endpoints(place), ...(args ? { args } : {}) });
	const cwd = place.folder.path;
	const as = (key: string, ...words: string[]): Promise<Ended> =>
		sluice(test, words, { cwd, env: { SLUICE_URL: service.url, SLUICE_API_KEY: key } });
	return {
		place,
		service,
		cwd,
		as,
		ask: (...words) => as(KEY, ...words),
		async stdoutOf(...words) {
			const { code, stdout, stderr } = await as(KEY, ...words);
			expect({ code, stderr }, words.join(" ")).toEqual({ code: 0, stderr: "" });
			return stdout;
		},
	};
}
