/** Rules of the job of a batch's request (D57): whose answer is in a file, and when it may run. */
import { mayBeLost } from "./attempt-rules.ts";
import { found, type JobRule } from "./job-rules.ts";

/** A line of a file has what a worker reported of its request. */
const answer: JobRule = (job) => {
	for (const { file, isAnswer, line } of job.batchLines) {
		if (!job.numbers.has(Number(line.id.slice(2))))
			return [found("batch-answer", `${line.id} has the answer to another request`, ...job.takes, file)];
		const kind = isAnswer ? "complete" : "fail";
		const reported = job.reports.some(
			(report) => report.kind === kind && report.from < file.to && (!isAnswer || report.text === line.text),
		);
		if (reported || (!isAnswer && mayBeLost(job))) continue;
		return [found("batch-answer", `no worker reported what ${line.id} has`, ...job.reports, file)];
	}
	return [];
};

/** No request runs for a batch whose file has a fault, and none is handed out when the batch has ended. */
const noRun: JobRule = (job) => {
	const { batch } = job;
	if (!batch) return [];
	const [first] = job.takes;
	if (batch.isBad && first) return [found("batch-faults", "a request of a file with a fault was handed out", first)];
	const late = job.takes.find(({ from }) => from > (batch.endedAt ?? Infinity));
	return late ? [found("batch-cancel", "a request was handed out after the end of its batch", late)] : [];
};

export const BATCH_RULES: readonly JobRule[] = [answer, noRun];
