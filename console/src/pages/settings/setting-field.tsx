/** The field of one setting: its name in the API next to its label, its bounds and its default. */
import type { ReactNode } from "react";
import { Select, TextField } from "../../parts/field.tsx";
import { defaultOf, type FormField, isChanged, nameOf } from "./settings-form.ts";
import { read, shown } from "../../values/setting-kinds.ts";
import { T } from "../../text/text.ts";

/** In place of the empty text, which a list to choose from cannot have. */
const DEFAULT = "default";

const MOST_LINES = 14;

export function SettingField({
	field,
	value,
	fault,
	onChange,
}: {
	field: FormField;
	value: string;
	fault: string | undefined;
	onChange: (text: string) => void;
}): ReactNode {
	const { kind, setting, required } = field;
	const usual = defaultOf(field);
	const shared = {
		label: labelOf(field),
		api: nameOf(field),
		fault,
		hint: [setting.description, usual === undefined ? "" : T.settings.defaultIs(usual)].filter(Boolean).join(" "),
	};
	if (kind === "choice" || kind === "boolean") {
		const words = kind === "boolean" ? ["true", "false"] : (setting.enum ?? []).map(String);
		const texts = T.settings.choices as Readonly<Record<string, string>>;
		const choices = words.map((id) => ({ id, name: texts[id] === undefined ? id : `${texts[id]} (${id})` }));
		// One whose default the schema names is always set.
		const open = !required && (value === "" || setting.default === undefined);
		return (
			<Select
				{...shared}
				value={value === "" ? DEFAULT : value}
				onChange={(id) => onChange(id === DEFAULT ? "" : id)}
				choices={open ? [{ id: DEFAULT, name: T.settings.default }, ...choices] : choices}
			/>
		);
	}
	const long = kind === "json" || kind === "lines" || kind === "map";
	return (
		<TextField
			{...shared}
			marked={isChanged(field, { [nameOf(field)]: value })}
			value={value}
			onChange={onChange}
			placeholder={usual ?? exampleOf(field)}
			number={kind === "number"}
			mono={kind !== "text" && kind !== "number"}
			wide={kind === "json"}
			{...(long ? { lines: Math.min(MOST_LINES, Math.max(2, value.split("\n").length)) } : {})}
		/>
	);
}

/** The name for people: from the texts, the schema, or the name in the API. */
function labelOf(field: FormField): string {
	const names = T.settings.names as Readonly<Record<string, string>>;
	const own = names[nameOf(field)] ?? field.setting.title;
	if (own !== undefined) return own;
	const words = field.path
		.slice(field.path.length > 1 ? 1 : 0)
		.join(" ")
		.replace(/([a-z])([A-Z])/g, "$1 $2")
		.toLowerCase()
		.replace(/\bgpu(s?)\b/g, "GPU$1")
		.replace(/\bcpu(s?)\b/g, "CPU$1")
		.replace(/\bmb\b/g, "MB")
		.replace(/\bgb\b/g, "GB");
	return words.charAt(0).toUpperCase() + words.slice(1);
}

function exampleOf({ kind, setting, required }: FormField): string | undefined {
	const [example] = setting.examples ?? [];
	if (example === undefined) return undefined;
	if (kind === "json") return T.settings.example(JSON.stringify(example, null, 1).replaceAll(/\n\s*/g, " "));
	return required ? shown(kind, setting, example) : undefined;
}

/** What was typed as the field would show it, for tables of changes. */
export function valueText({ kind, setting }: FormField, text: string): string {
	const found = kind === "json" ? undefined : read(kind, setting, text);
	return found !== undefined && "value" in found ? shown(kind, setting, found.value) : text;
}
