/** Rows, durations and ends of Slurm's jobs. */
import { describe, expect, it } from "vitest";
import {
	endInAccounting,
	endInRecord,
	exitOf,
	faultIn,
	isActive,
	rowsOf,
	seconds,
	waitingReason,
	withoutNotes,
} from "./job-states.ts";
import { ADAPTER_FAILS, AGAIN } from "./script.ts";

const row = (line: string) => [...rowsOf(line).values()][0]!;

describe("rowsOf", () => {
	it("reads states, reasons and times, and skips other lines", () => {
		const output = [
			"12|RUNNING|None|1-02:03:04|2-00:00:00|sluice:s:w-1",
			"13|PENDING|ReqNodeNotAvail, UnavailableNodes:n[1-3]|1:00|1:00|odd|name",
			"14_[1-9]|PENDING|Priority|UNLIMITED|UNLIMITED|array",
			"slurm_load_jobs error: something",
			"",
		].join("\n");
		expect([...rowsOf(output).values()]).toEqual([
			{
				id: "12",
				state: "RUNNING",
				reason: "None",
				leftS: 93_784,
				limitS: 172_800,
				name: "sluice:s:w-1",
			},
			{
				id: "13",
				state: "PENDING",
				reason: "ReqNodeNotAvail, UnavailableNodes:n[1-3]",
				leftS: 60,
				limitS: 60,
				name: "odd|name",
			},
			{
				id: "14_[1-9]",
				state: "PENDING",
				reason: "Priority",
				leftS: undefined,
				limitS: undefined,
				name: "array",
			},
		]);
	});
});

describe("seconds", () => {
	it.each([
		["0:00", 0],
		["59:59", 3599],
		["1:00:00", 3600],
		["23:59:59", 86_399],
		["365-00:00:01", 31_536_001],
		["UNLIMITED", undefined],
		["NOT_SET", undefined],
		["INVALID", undefined],
		["", undefined],
		["1-", undefined],
		["-5:00", undefined],
	])("%s", (text, expected) => {
		expect(seconds(text)).toBe(expected);
	});
});

describe("waitingReason", () => {
	it.each([
		["Resources", "queued", " (no node has the requested resources free)."],
		["Priority", "queued", " (jobs of higher priority are before it)."],
		["None", "queued", ": None."],
		["QOSMaxJobsPerUserLimit", "queued", "QOSMaxJobsPerUserLimit."],
		["AssocGrpGRES", "queued", "AssocGrpGRES."],
		["PartitionTimeLimit", "unschedulable", " (its time limit is longer than the partition allows)."],
		["BadConstraints", "unschedulable", " (no node fits its constraint, GPUs, cores and memory)."],
		["JobHeldUser", "unschedulable", ": JobHeldUser."],
		["ReqNodeNotAvail, May be reserved for other job", "unschedulable", " reserved)."],
		["launch failed requeued held", "unschedulable", "launch failed requeued held."],
	])("D29: %s is %s", (reason, code, end) => {
		const { message, ...rest } = waitingReason(row(`7|PENDING|${reason}|1:00|1:00|n`));
		expect(rest).toEqual({ code });
		expect(message.startsWith(`Slurm job 7 is pending: ${reason}`), message).toBe(true);
		expect(message.endsWith(end), message).toBe(true);
	});

	it("D29: a node that is prepared", () => {
		expect(waitingReason(row("7|CONFIGURING|None|1:00|1:00|n"))).toMatchObject({
			code: "starting",
		});
	});
});

describe("isActive", () => {
	it("is false for ends only", () => {
		const ends = "BOOT_FAIL CANCELLED COMPLETED DEADLINE FAILED NODE_FAIL OUT_OF_MEMORY PREEMPTED REVOKED TIMEOUT";
		expect(ends.split(" ").filter(isActive)).toEqual([]);
		const runs = "PENDING CONFIGURING RUNNING COMPLETING SUSPENDED STOPPED REQUEUED REQUEUE_HOLD";
		expect(runs.split(" ").filter((each) => !isActive(each))).toEqual([]);
	});
});

describe("exitOf", () => {
	const of = (line: string) => exitOf(endInRecord(`JobId=12 JobName=JobState=x ${line} BatchHost=n1`)!, "12");

	it("has the exit code or the signal of the program", () => {
		expect(of("JobState=COMPLETED Reason=None ExitCode=0:0")).toEqual({ code: 0 });
		expect(of("JobState=FAILED Reason=NonZeroExitCode ExitCode=7:0")).toEqual({ code: 7 });
		expect(of("JobState=FAILED Reason=JobLaunchFailure ExitCode=0:9")).toEqual({
			signal: "SIGKILL",
		});
	});

	it.each([
		["CANCELLED", "deleted", false, "was cancelled, not by this service."],
		["TIMEOUT", "time_limit", false, "reached its time limit."],
		["PREEMPTED", "preempted", false, "was preempted by another job."],
		["NODE_FAIL", "node_failed", false, "ended because its node failed."],
		["OUT_OF_MEMORY", "out_of_memory", true, "used more than its memory: raise launcher.memory."],
	])("D28, D29: %s is %s, a crash: %s", (state, code, crash, what) => {
		expect(of(`JobState=${state} Reason=None ExitCode=0:15`)).toEqual({
			reason: { code, crash, message: `Slurm job 12 on node n1 ${what}` },
		});
	});

	it("D28: a job that could not be launched is a failed start, one that is not known is no crash", () => {
		expect(of("JobState=FAILED Reason=JobLaunchFailure ExitCode=0:0").reason).toMatchObject({
			code: "start_failed",
			crash: true,
		});
		expect(exitOf({ state: "UNKNOWN" }, "12").reason).toMatchObject({
			code: "deleted",
			crash: false,
		});
	});

	it.each(["NonZeroExitCode ExitCode=1:0", "JobLaunchFailure ExitCode=0:0", "RaisedSignal:9(Killed) ExitCode=0:9"])(
		"D28, D34: the end of a second start is no crash of the worker: %s",
		(how) => {
			const end = endInRecord(`JobId=12 JobName=x JobState=FAILED Reason=${how} BatchHost=n1`)!;
			const message = "Slurm job 12 on node n1 was started twice: the controller lost the record of its first start.";
			expect(exitOf(end, "12", { hasLostStart: true })).toEqual({ reason: { code: "deleted", crash: false, message } });
			expect(exitOf({ ...end, state: "COMPLETED" }, "12", { hasLostStart: true })).toEqual({ code: 0 });
		},
	);

	it("D29: a state that no row names is said in Slurm's word", () => {
		expect(of("JobState=LAUNCH_LATE Reason=None ExitCode=0:0").reason).toEqual({
			code: "deleted",
			crash: false,
			message: "Slurm job 12 on node n1 has ended: LAUNCH_LATE.",
		});
	});

	it("reads the accounting", () => {
		const output = "COMPLETED|0:0|n1|another\nCANCELLED by 1000|0:15|n1|odd|name\n";
		expect(endInAccounting(output, "odd|name")).toEqual({
			state: "CANCELLED",
			exitCode: "0:15",
			node: "n1",
		});
		expect(endInAccounting(output, "name"), "ids are reused").toBeUndefined();
		expect(endInAccounting("\n", "")).toBeUndefined();
		expect(endInRecord("")).toBeUndefined();
	});
});

describe("faultIn", () => {
	const NOTES = [
		"slurmstepd-n1: error: *** JOB 12 ON n1 CANCELLED AT 2026-01-01T00:00:00 ***",
		"slurmstepd-n1: error: _handle_signal_container: failed signal 9 pid 1 StepId=12.batch No such process",
	];
	const fault = (output: string, exitCode: string, unreadIn?: string) =>
		faultIn(output, {
			job: "12",
			end: { state: "FAILED", exitCode, node: "n1" },
			program: "train",
			unreadIn,
		});

	it("D29: names the folder that the node does not share", () => {
		expect(fault("", "1:0", "/shared")).toMatchObject({
			code: "volume",
			crash: true,
			message: expect.stringContaining("before it read its variables in /shared: launcher.sharedDir"),
		});
	});

	it("D29: says that a program does not exist, without the output, which only admin keys see", () => {
		expect(fault(["HF_TOKEN=hf_1", ...NOTES].join("\n"), "127:0")).toEqual({
			code: "config",
			crash: true,
			message:
				"Slurm job 12 on node n1 could not run train: it, or a program that it calls, was not found there " +
				"(exit code 127).",
		});
		expect(fault("", "126:0")).toMatchObject({ message: expect.stringContaining("may not be executed there") });
	});

	it("D29: an adapter that the node cannot run is named, not the command", () => {
		const { code, crash, message } = fault(`node: wrong libc\n${ADAPTER_FAILS} /s/node\n`, "72:0")!;
		expect([code, crash]).toEqual(["config", true]);
		expect(message).toBe(
			"Slurm job 12 on node n1 could not run the adapter, the program that sends jobs to the server: " +
				"set launcher.adapterCommand to one that the node can run.",
		);
		expect(fault("the server's own code\n", "72:0")).toBeUndefined();
	});

	it("D28: a job that Slurm started twice is no crash", () => {
		expect(fault(`${AGAIN}\n`, "75:0")).toMatchObject({ code: "deleted", crash: false });
		expect(fault("busy\n", "75:0")).toBeUndefined();
	});

	it("D29: knows the memory limit of a cluster without cgroups", () => {
		const output = "slurmstepd-n1: error: Exceeded job memory limit\n";
		expect(fault(output, "0:9")).toMatchObject({ code: "out_of_memory" });
	});

	it("is silent about a program that crashed", () => {
		expect(fault("Traceback: exceeded job memory limit", "1:0")).toBeUndefined();
		expect(withoutNotes(["drained", ...NOTES].join("\n"))).toBe("drained");
		expect(withoutNotes([NOTES[0], "drained", "slurmstepd: mine"].join("\n"))).toBe("drained\nslurmstepd: mine");
	});
});
