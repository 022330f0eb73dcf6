/** `sluice completion`: scripts with which a shell completes commands and flags (D36). */
import { type Action, type Command, type CommandGroup, flagsOf } from "./command.ts";
import { CliError } from "./errors.ts";

/** What may follow the words of `path`, such as `jobs list`; empty: `sluice` alone. */
interface Level {
	path: string;
	words: readonly Word[];
	flags: readonly Word[];
}

interface Word {
	text: string;
	summary: string;
	/** Whether the flag takes a value. */
	hasValue?: boolean;
}

const SHELLS: Readonly<Record<string, (levels: readonly Level[]) => string>> = { bash, zsh, fish };

/** `commands`: all, itself included. */
export function completionCommand(commands: () => readonly Command[]): Action {
	return {
		name: "completion",
		summary: "print a script with which bash, zsh or fish completes commands and flags",
		args: ["SHELL"],
		local: true,
		flags: {},
		examples: [
			"source <(sluice completion bash)  # in ~/.bashrc",
			"source <(sluice completion zsh)  # in ~/.zshrc, after compinit",
			"sluice completion fish > ~/.config/fish/completions/sluice.fish",
		],
		async run({ args: [shell = ""] }) {
			const script = SHELLS[shell];
			if (!script) throw new CliError(`SHELL must be one of ${Object.keys(SHELLS).join(", ")}, not '${shell}'.`);
			process.stdout.write(script(levelsOf(commands())));
			return 0;
		},
	};
}

function levelsOf(commands: readonly Command[]): Level[] {
	const names: Word[] = commands.map(({ name, summary }) => ({ text: name, summary }));
	const help = { text: "help", summary: "explain a command" };
	const top: Level = {
		path: "",
		words: [...names, help],
		flags: [{ text: "--version", summary: "print the version" }],
	};
	return [top, { path: "help", words: names, flags: [] }, ...commands.flatMap(levelsOfCommand)];
}

function levelsOfCommand(command: Command): Level[] {
	if (!("actions" in command)) return [levelOfAction(command, command.name)];
	const { name, actions }: CommandGroup = command;
	// The default verb.
	const list = actions.find((each) => each.name === "list");
	const verbs = actions.map((each) => ({ text: each.name, summary: each.summary }));
	return [
		{ path: name, words: verbs, flags: list ? levelOfAction(list, name).flags : [] },
		...actions.map((each) => levelOfAction(each, `${name} ${each.name}`)),
	];
}

function levelOfAction(action: Action, path: string): Level {
	const flags = Object.entries(flagsOf(action)).map(([flag, { summary, value }]) => ({
		text: `--${flag}`,
		summary,
		hasValue: value !== undefined,
	}));
	const words =
		action.name === "completion" ? Object.keys(SHELLS).map((text) => ({ text, summary: `for ${text}` })) : [];
	return { path, words, flags: [...flags, { text: "--help", summary: "explain the command" }] };
}

const pathsOf = (levels: readonly Level[]): string[] => levels.flatMap(({ path }) => (path === "" ? [] : [path]));

const quoted = (text: string): string => `'${text.replaceAll("'", `'\\''`)}'`;

const texts = (words: readonly Word[]): string => words.map(({ text }) => text).join(" ");

/** Where nothing of a command fits, file names are completed. */
function bash(levels: readonly Level[]): string {
	const cases = levels.map(
		({ path, words, flags }) => `\t\t${quoted(path)}) words=${quoted(texts(words))} flags=${quoted(texts(flags))} ;;\n`,
	);
	return `# bash completion of sluice
_sluice() {
	local cur=\${COMP_WORDS[COMP_CWORD]} path= word words= flags= i
	for ((i = 1; i < COMP_CWORD; i++)); do
		word=\${COMP_WORDS[i]}
		case "\${path:+$path }$word" in
		${pathsOf(levels).map(quoted).join(" | ")}) path="\${path:+$path }$word" ;;
		esac
	done
	case $path in
${cases.join("")}	esac
	if [[ $cur == -* ]]; then words=$flags; fi
	COMPREPLY=($(compgen -W "$words" -- "$cur"))
}
complete -o default -F _sluice sluice
`;
}

function zsh(levels: readonly Level[]): string {
	const described = (all: readonly Word[]): string =>
		all.map(({ text, summary }) => quoted(`${text.replaceAll(":", "\\:")}:${summary}`)).join(" ");
	const cases = levels.map(
		({ path, words, flags }) => `\t\t(${quoted(path)}) found=(${described(words)}) flags=(${described(flags)}) ;;\n`,
	);
	return `#compdef sluice
# zsh completion of sluice
_sluice() {
	local -a found flags
	local path_= word
	for word in "\${(@)words[2,CURRENT-1]}"; do
		case "\${path_:+$path_ }$word" in
		(${pathsOf(levels).map(quoted).join("|")}) path_="\${path_:+$path_ }$word" ;;
		esac
	done
	case $path_ in
${cases.join("")}	esac
	if [[ $words[CURRENT] == -* ]]; then
		_describe -o option flags
	elif (( $#found )); then
		_describe command found
	else
		_files
	fi
}
if [[ $funcstack[1] == _sluice ]]; then _sluice "$@"; else compdef _sluice sluice; fi
`;
}

function fish(levels: readonly Level[]): string {
	const lines = levels.flatMap(({ path, words, flags }) => {
		const at = `complete -c sluice -n ${quoted(`__sluice_at ${path}`)}`;
		return [
			...words.map(({ text, summary }) => `${at} -f -a ${text} -d ${fishQuoted(summary)}`),
			...flags.map(
				({ text, summary, hasValue }) => `${at} ${hasValue ? "-r " : ""}-l ${text.slice(2)} -d ${fishQuoted(summary)}`,
			),
		];
	});
	return `# fish completion of sluice
function __sluice_at
	set -l at
	for word in (commandline -opc)[2..-1]
		contains -- (string join ' ' -- $at $word) ${pathsOf(levels).map(quoted).join(" ")}
		and set -a at $word
	end
	test "$at" = "$argv"
end
${lines.join("\n")}
`;
}

function fishQuoted(text: string): string {
	return `'${text.replaceAll("\\", "\\\\").replaceAll("'", "\\'")}'`;
}
