export function record<Name extends string, Value>(
	names: readonly Name[],
	valueOf: (name: Name, index: number) => Value,
): Record<Name, Value> {
	return Object.fromEntries(names.map((name, index) => [name, valueOf(name, index)])) as Record<Name, Value>;
}
