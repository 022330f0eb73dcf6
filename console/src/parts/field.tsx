/** Fields of forms: a label, what it means, and what is wrong with it. */
import type { ReactNode } from "react";
import {
	Checkbox as AriaCheckbox,
	Button,
	FieldError,
	Input,
	Label,
	ListBox,
	ListBoxItem,
	Popover,
	Select as AriaSelect,
	SelectValue,
	Switch as AriaSwitch,
	Text,
	TextArea,
	TextField as AriaTextField,
} from "react-aria-components";
import { Icon } from "./icons.tsx";

interface TextProps {
	label: string;
	value: string;
	onChange: (value: string) => void;
	/** What it is for, its unit, its default. */
	hint?: string | undefined;
	/** What is wrong. */
	fault?: string | undefined;
	/** More than one line: so many at least. */
	lines?: number;
	mono?: boolean;
	type?: "text" | "password" | "search";
	unit?: string | undefined;
	number?: boolean;
	placeholder?: string | undefined;
	disabled?: boolean;
	autoFocus?: boolean;
	autoComplete?: string;
	/** The label is for assistive technology only. */
	bare?: boolean;
	/** Ctrl-Enter or Cmd-Enter was pressed. */
	onSend?: () => void;
}

export function TextField({
	onSend,
	label,
	value,
	onChange,
	hint,
	fault,
	lines,
	mono = false,
	type = "text",
	unit,
	number = false,
	placeholder,
	disabled = false,
	autoFocus = false,
	autoComplete = "off",
	bare = false,
}: TextProps): ReactNode {
	const shared = {
		className: mono || number ? "input mono" : "input",
		...(placeholder === undefined ? {} : { placeholder }),
	};
	const named = bare ? { "aria-label": label } : {};
	return (
		<AriaTextField
			className="field"
			value={value}
			onChange={onChange}
			type={type}
			isInvalid={fault !== undefined}
			isDisabled={disabled}
			validationBehavior="aria"
			autoComplete={autoComplete}
			autoFocus={autoFocus}
			spellCheck="false"
			{...named}
			{...(onSend
				? {
						onKeyDown: (event: React.KeyboardEvent) =>
							event.key === "Enter" && (event.ctrlKey || event.metaKey) ? onSend() : undefined,
					}
				: {})}
		>
			{bare ? null : <Label>{label}</Label>}
			{lines === undefined ? (
				<div className={unit === undefined ? "with-unit none" : "with-unit"}>
					<Input {...shared} {...(number ? { inputMode: "numeric" } : {})} />
					{unit === undefined ? null : (
						<span className="unit" aria-hidden="true">
							{unit}
						</span>
					)}
				</div>
			) : (
				<TextArea {...shared} rows={lines} />
			)}
			{hint === undefined ? null : (
				<Text slot="description" className="hint">
					{hint}
				</Text>
			)}
			<FieldError className="fault">{fault}</FieldError>
		</AriaTextField>
	);
}

export interface Choice {
	id: string;
	name: string;
}

export function Select({
	label,
	value,
	onChange,
	choices,
	hint,
	fault,
	bare = false,
}: {
	label: string;
	value: string;
	onChange: (value: string) => void;
	choices: readonly Choice[];
	hint?: string | undefined;
	fault?: string | undefined;
	bare?: boolean;
}): ReactNode {
	return (
		<AriaSelect
			className="field"
			value={value}
			onChange={(key) => onChange(String(key))}
			isInvalid={fault !== undefined}
			validationBehavior="aria"
			{...(bare ? { "aria-label": label } : {})}
		>
			{bare ? null : <Label>{label}</Label>}
			<Button className="input select">
				<SelectValue />
				<Icon name="down" />
			</Button>
			{hint === undefined ? null : (
				<Text slot="description" className="hint">
					{hint}
				</Text>
			)}
			<FieldError className="fault">{fault}</FieldError>
			<Popover className="popover" offset={4}>
				<ListBox className="list" items={choices}>
					{({ id, name }) => (
						<ListBoxItem className="option" id={id} textValue={name}>
							{name}
						</ListBoxItem>
					)}
				</ListBox>
			</Popover>
		</AriaSelect>
	);
}

export function Checkbox({
	children,
	checked,
	onChange,
	disabled = false,
}: {
	children: ReactNode;
	checked: boolean;
	onChange: (checked: boolean) => void;
	disabled?: boolean;
}): ReactNode {
	return (
		<AriaCheckbox
			className="checkbox"
			isSelected={checked}
			onChange={onChange}
			isDisabled={disabled}
		>
			<span className="box" aria-hidden="true">
				<Icon name="check" />
			</span>
			<span>{children}</span>
		</AriaCheckbox>
	);
}

export function Switch({
	children,
	on,
	onChange,
}: {
	children: ReactNode;
	on: boolean;
	onChange: (on: boolean) => void;
}): ReactNode {
	return (
		<AriaSwitch className="switch" isSelected={on} onChange={onChange}>
			<span className="track" aria-hidden="true" />
			<span>{children}</span>
		</AriaSwitch>
	);
}
