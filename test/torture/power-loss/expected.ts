/** What an acknowledgement says about a job from then on. */
import type { JobState } from "../../../src/kernel/core/jobs/job-states.ts";

export interface Expected {
	endpoint: string;
	id: string;
	input?: string;
	/** Had the job at some time. */
	worker?: string;
	chunk?: string;
	/** Final. */
	state?: JobState;
	output?: string;
}
