/** Groups of files that import each other in a cycle: the strongly connected components of a graph. */

/**
 * Every group of two or more files of which each reaches each other one, and every file that
 * imports itself; sorted. `imports` has an entry for each file. Tarjan's algorithm.
 */
export function importCycles(imports: ReadonlyMap<string, readonly string[]>): string[][] {
	const order = new Map<string, number>();
	const lowest = new Map<string, number>();
	const stack: string[] = [];
	const onStack = new Set<string>();
	const cycles: string[][] = [];

	function visit(file: string): void {
		order.set(file, order.size);
		lowest.set(file, order.get(file)!);
		stack.push(file);
		onStack.add(file);
		for (const target of imports.get(file) ?? []) {
			if (!order.has(target)) visit(target);
			if (onStack.has(target)) lowest.set(file, Math.min(lowest.get(file)!, lowest.get(target)!));
		}
		if (lowest.get(file) !== order.get(file)) return;
		const group = stack.splice(stack.indexOf(file));
		for (const member of group) onStack.delete(member);
		if (group.length > 1 || imports.get(file)?.includes(file)) cycles.push(group.toSorted());
	}

	for (const file of imports.keys()) if (!order.has(file)) visit(file);
	return cycles.toSorted((a, b) => a[0]!.localeCompare(b[0]!));
}
