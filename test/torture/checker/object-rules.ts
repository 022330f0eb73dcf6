/**
 * The rule `change-kept`: a change that was acknowledged to an operator is what servers show afterwards, until a later
 * change of the same member (D27, D49). Of a file it is `file-kept`: its content is what was uploaded, until it is
 * deleted (D56).
 */
import type { ChangeOp, ShownOp } from "../history.ts";
import { over, type Violation } from "./job-history.ts";

/** Changes of one object that were made or may have been, and what was shown of it. */
export class ObjectHistory {
	protected changes: ChangeOp[] = [];
	private shown: ShownOp[] = [];
	private judgedTo = 0;
	private readonly object: string;
	protected readonly report: (violation: Violation) => void;
	/** The rule that an operation breaks. */
	private readonly ruleOf: (op: ChangeOp | ShownOp) => string;

	constructor(object: string, report: (violation: Violation) => void, ruleOf: (op: ChangeOp | ShownOp) => string) {
		this.object = object;
		this.ruleOf = ruleOf;
		this.report = report;
	}

	change(op: ChangeOp): void {
		if (op.result !== "fail") this.changes.push(op);
	}

	show(op: ShownOp): void {
		if (op.result !== "unknown") this.shown.push(op);
	}

	get held(): number {
		return this.changes.length + this.shown.length;
	}

	/** Judges what was answered before that moment, and drops it. No request from before it may be without an answer. */
	judge(before: number): void {
		for (const op of this.shown) if (op.to < before) this.judgeShown(op);
		for (const op of this.changes) if (op.to >= this.judgedTo && op.to < before) this.judgeChange(op);
		this.judgedTo = before;
		this.shown = this.shown.filter(({ to }) => to >= before);
		this.changes = this.changes.filter((op) => op.to >= before || !this.isReplaced(op, before));
	}

	private judgeShown(op: ShownOp): void {
		if (!op.missing) return this.judgeMembers(op);
		const made = this.changes.findLast((each) => each.how !== "delete" && isDone(each) && each.to < op.from);
		if (!made || this.changes.some((each) => each.how === "delete" && mayLieBetween(made, each, op))) return;
		this.violates("an object is missing that was not deleted", made, op);
	}

	protected judgeMembers(op: ShownOp): void {
		this.judgeExistence(op);
		for (const [name, value] of Object.entries(op.members ?? {})) {
			const writers = this.changes.filter(({ sets, from }) => sets[name] === value && from < op.to);
			if (writers.length === 0) this.violates(`${name} is ${value}, which was never set`, op);
			const later = writers.map((writer) => this.changes.find((each) => isCertainlyBetween(writer, each, op, name)));
			if (writers.length > 0 && later.every((each) => each !== undefined))
				this.violates(`${name} is ${value}, which was changed since`, writers.at(-1)!, later.at(-1)!, op);
		}
	}

	/** It has not come back after a deletion: it was created again, or the deletion may come after this. */
	protected judgeExistence(op: ShownOp | ChangeOp): void {
		const ended = this.changes.findLast((each) => each.how === "delete" && isDone(each) && each.to < op.from);
		if (!ended || this.changes.some((each) => isCreation(each) && mayLieBetween(ended, each, op))) return;
		this.violates("a deleted object is back", ended, op);
	}

	/** An object that exists is not created again, and one that does not is not changed. */
	private judgeChange(op: ChangeOp): void {
		if (!isDone(op)) return;
		if (op.how === "set") this.judgeExistence(op);
		if (op.how !== "create") return;
		const first = this.changes.findLast((each) => each !== op && isDone(each) && isBefore(each, op));
		if (!first || this.changes.some((each) => each.how === "delete" && mayLieBetween(first, each, op))) return;
		this.violates("an object was created twice", first, op);
	}

	/** Whether no later operation can show what the change set. */
	protected isReplaced(op: ChangeOp, before: number): boolean {
		const later = this.changes.filter((each) => isDone(each) && each.from > over(op) && each.to < before);
		if (later.some(({ how }) => how === "delete")) return true;
		// A creation is needed to recognise a second one, and a deletion to recognise what comes back.
		if (op.how !== "set") return false;
		return later.some(({ sets }) => Object.keys(op.sets).every((name) => name in sets));
	}

	/** `lines` end with the operation that is judged. */
	protected violates(what: string, ...lines: (ChangeOp | ShownOp)[]): void {
		this.report({ rule: this.ruleOf(lines.at(-1)!), what: `${this.object}: ${what}`, lines });
	}
}

/** The history of what operators change, or of a file. */
export function objectHistory(object: string, report: (violation: Violation) => void): ObjectHistory {
	return new ObjectHistory(object, report, () => (object.startsWith("file ") ? "file-kept" : "change-kept"));
}

/** Whether the object existed before the creation: of two creations one was the second. */
function isBefore(each: ChangeOp, creation: ChangeOp): boolean {
	return each.how === "create" ? each.to <= creation.to : each.how === "put" && each.to < creation.from;
}

export const isDone = ({ result }: ChangeOp): boolean => result === "ok";

const isCreation = ({ how }: ChangeOp): boolean => how === "create" || how === "put";

/** Whether the change may have happened after the first and before the last. */
export function mayLieBetween(first: ChangeOp, change: ChangeOp, last: { to: number }): boolean {
	return over(change) > first.from && change.from < last.to;
}

export function isCertainlyBetween(writer: ChangeOp, change: ChangeOp, shown: ShownOp, member: string): boolean {
	if (!isDone(change) || change.from <= over(writer) || change.to >= shown.from) return false;
	return change.how === "delete" || member in change.sets;
}
