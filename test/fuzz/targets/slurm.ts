/** What Slurm's commands print, and names of jobs. */
import fc from "fast-check";
import {
	endInAccounting,
	endInRecord,
	exitOf,
	faultIn,
	rowsOf,
	seconds,
	waitingReason,
	withoutNotes,
} from "../../../src/modules/slurm/job-states.ts";
import { nameOf, ownerIn } from "../../../src/modules/slurm/script.ts";
import { natural, oddText } from "../generate.ts";
import { must, same, target } from "../target.ts";

const word = (text: string): string => text.replaceAll(/[^A-Za-z0-9_-]/g, "") || "x";
const field = (text: string): string => text.replaceAll(/[|\n]/g, "");

const state = fc.constantFrom("RUNNING", "PENDING", "FAILED", "TIMEOUT", "OUT_OF_MEMORY", "ODD");
const printed = fc.oneof(
	oddText,
	fc.constantFrom("12|RUNNING|None|1:00|2:00|x", "JobState=FAILED ExitCode=0:9", "FAILED|1:0|n1"),
);

export const SLURM_JOBS = target({
	name: "slurm-jobs",
	sources: ["modules/slurm/job-states.ts", "modules/slurm/script.ts"],
	cases: fc.record({
		id: fc.integer({ min: 1, max: 99_999_999 }),
		state,
		reason: oddText,
		days: fc.nat(400),
		minutes: fc.nat(1439),
		service: oddText,
		worker: oddText,
		printed,
	}),
	check(q) {
		const owner = {
			serviceId: word(q.service),
			endpoint: word(q.worker),
			workerId: `${word(q.worker)}-0123456789ab`,
		};
		same("owner", ownerIn(nameOf(owner)), owner);
		const [days, minutes] = [natural(q.days) % 1000, natural(q.minutes) % 1440];
		const two = (number: number): string => String(number).padStart(2, "0");
		const left = `${days}-${two(Math.floor(minutes / 60))}:${two(minutes % 60)}:00`;
		const id = String(natural(q.id) || 1);
		const line = [id, word(q.state), field(q.reason), left, "UNLIMITED", nameOf(owner)].join("|");
		const row = rowsOf(`${field(q.printed)}\n${line}\n`).get(id);
		same("row", row, {
			id,
			state: word(q.state),
			reason: field(q.reason),
			leftS: (days * 1440 + minutes) * 60,
			name: nameOf(owner),
		});
		must(waitingReason(row!).message.endsWith("."), "no sentence");
		must((seconds(q.printed) ?? 0) >= 0, "a negative duration");
		const accounting = endInAccounting(`${q.printed}|${nameOf(owner)}`, nameOf(owner));
		for (const end of [endInRecord(q.printed), accounting]) {
			if (!end) continue;
			const { reason } = exitOf(end, id);
			must(reason === undefined || reason.message.startsWith(`Slurm job ${id}`), "another job");
			faultIn(q.printed, { job: id, end, program: "train", unreadIn: undefined });
		}
		must(withoutNotes(q.printed).length <= q.printed.length, "longer than before");
	},
});
