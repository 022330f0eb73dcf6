/** What `sluice doctor` reports of one check (D36). */
export interface Finding {
	/** One or two words. */
	check: string;
	/** `problem`: something does not work. `warning`: something soon may not. */
	level: "ok" | "warning" | "problem";
	message: string;
	fix?: string;
	/** What a program printed, without line ends. */
	lines?: readonly string[];
}

export function ok(check: string, message: string): Finding {
	return { check, level: "ok", message };
}

export function warning(check: string, message: string, fix: string): Finding {
	return { check, level: "warning", message, fix };
}

export function problem(check: string, message: string, fix: string): Finding {
	return { check, level: "problem", message, fix };
}
