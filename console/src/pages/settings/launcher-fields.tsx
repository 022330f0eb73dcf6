/** Which launcher, and its fields: the usual ones, and all others below. */
import type { ReactNode } from "react";
import { Fold } from "../../parts/fold.tsx";
import { Select } from "../../parts/field.tsx";
import { type FormField, type LauncherChoice, nameOf, type Typed } from "./settings-form.ts";
import { T } from "../../text/text.ts";
import { SettingField } from "./setting-field.tsx";

export function LauncherFields({
	launchers,
	chosen,
	choose,
	fields,
	typed,
	faultOf,
	onChange,
}: {
	launchers: readonly LauncherChoice[];
	chosen: LauncherChoice;
	choose: (type: string) => void;
	fields: readonly FormField[];
	typed: Typed;
	faultOf: (name: string) => string | undefined;
	onChange: (name: string, text: string) => void;
}): ReactNode {
	const line = (field: FormField): ReactNode => {
		const name = nameOf(field);
		return (
			<SettingField
				key={name}
				field={field}
				value={typed[name] ?? field.value}
				fault={faultOf(name)}
				onChange={(text) => onChange(name, text)}
			/>
		);
	};
	const usual = fields.filter(({ setting }) => setting.title !== undefined);
	const others = fields.filter((field) => !usual.includes(field));
	const set = others.filter(({ value }) => value !== "");
	const wrong = others.some((field) => faultOf(nameOf(field)) !== undefined);
	return (
		<>
			<Select
				label={T.newEndpoint.launcher}
				api="launcher.type"
				value={chosen.type}
				onChange={choose}
				choices={launchers.map((each) => ({ id: each.type, name: each.title }))}
				hint={chosen.description}
			/>
			{usual.length === 0 ? null : <div className="form-grid">{usual.map(line)}</div>}
			{others.length === 0 ? null : (
				<Fold key={chosen.type} title={T.settings.moreOf(set.length)} open={wrong}>
					<div className="form-grid">{others.map(line)}</div>
				</Fold>
			)}
		</>
	);
}
