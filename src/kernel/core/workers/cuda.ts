/** Which CUDA versions a driver runs. */

/** Major versions of NVIDIA's drivers for Linux and the newest CUDA that each runs, from its release notes. */
const DRIVERS: readonly (readonly [driver: number, cuda: string])[] = [
	[450, "11.0"],
	[455, "11.1"],
	[460, "11.2"],
	[465, "11.3"],
	[470, "11.4"],
	[495, "11.5"],
	[510, "11.6"],
	[515, "11.7"],
	[520, "11.8"],
	[525, "12.0"],
	[530, "12.1"],
	[535, "12.2"],
	[545, "12.3"],
	[550, "12.4"],
	[555, "12.5"],
	[560, "12.6"],
	[565, "12.7"],
	[570, "12.8"],
	[575, "12.9"],
	[580, "13.0"],
	[590, "13.1"],
	[595, "13.2"],
];

/** Returns the newest CUDA version of a driver such as `550.54.15`; undefined for one that is newer than the list. */
export function cudaOf(driver: string): string | undefined {
	const major = Number(/^(\d+)\./.exec(driver)?.[1] ?? NaN);
	if (!(major <= DRIVERS.at(-1)![0])) return undefined;
	return DRIVERS.findLast(([first]) => first <= major)?.[1];
}

/** Compares versions such as `12.4`, as a sort does. */
export function compareVersions(one: string, other: string): number {
	const [major = 0, minor = 0] = one.split(".").map(Number);
	const [otherMajor = 0, otherMinor = 0] = other.split(".").map(Number);
	return major - otherMajor || minor - otherMinor;
}
