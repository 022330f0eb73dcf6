/** Style of the API reference, in the console's colours: light and dark by the reader's setting; from 360 px. */
export const DOCS_CSS = `
:root{color-scheme:light dark;
--ground:light-dark(#f6f7f8, #0e1114);--card:light-dark(#ffffff, #15191d);--sunk:light-dark(#f1f3f5, #101417);
--line:light-dark(#e3e7ea, #262c32);--edge:light-dark(#858f98, #6b7680);
--text:light-dark(#15191d, #e8ecef);--text-3:light-dark(#5d6771, #939ea8);
--accent:light-dark(#0b6580, #58bbd9);--accent-ground:light-dark(#0b6580, #1c7a97);
--accent-soft:light-dark(#e3f1f5, #16303a);--on-accent:#ffffff;
--run:light-dark(#1a5fbf, #76b2ff);--good:light-dark(#17703f, #56c489);--wait:light-dark(#7a5600, #e0b44c);
--late:light-dark(#a04700, #f5a25d);--bad:light-dark(#b8291f, #ff8077);
--mono:ui-monospace,"SF Mono","Cascadia Code",Menlo,Consolas,"DejaVu Sans Mono",monospace}
*{box-sizing:border-box}
html{scroll-behavior:smooth;scroll-padding-top:4.5rem;-webkit-text-size-adjust:100%}
@media (prefers-reduced-motion:reduce){html{scroll-behavior:auto}}
body{margin:0;background:var(--ground);color:var(--text);
  font:16px/1.6 system-ui,-apple-system,"Segoe UI",Roboto,sans-serif}
a{color:var(--accent);text-underline-offset:.2em}
:focus-visible{outline:2px solid var(--accent);outline-offset:2px;border-radius:4px}
code,pre,var,.path,.type,.media{font-family:var(--mono)}
code{font-size:.875em;overflow-wrap:anywhere}
.skip{position:absolute;left:-999px}
.skip:focus{left:1rem;top:.5rem;z-index:3;background:var(--card);padding:.5rem 1rem}
.top{position:sticky;top:0;z-index:2;display:flex;align-items:center;gap:.75rem;padding:.7rem clamp(1rem,3vw,2rem);
  background:var(--ground);border-bottom:1px solid var(--line)}
.brand{display:flex;align-items:center;gap:.55rem;font-weight:650;letter-spacing:-.01em;color:var(--text);
  text-decoration:none}
.brand rect{fill:var(--accent-ground)}
.brand path{fill:none;stroke:var(--on-accent);stroke-width:2.4;stroke-linecap:round}
.version{color:var(--text-3);font-size:.875rem}.raw{margin-left:auto;font:.875rem var(--mono)}
.columns{display:grid;grid-template-columns:minmax(0,1fr);max-width:86rem;margin:auto}
nav{padding:1rem clamp(1rem,3vw,2rem) 0;font-size:.875rem}
nav summary{cursor:pointer;font-weight:600;padding:.3rem 0}
nav h2{margin:1.1rem 0 .25rem;font-size:.75rem;text-transform:uppercase;letter-spacing:.07em}
nav h2 a{color:var(--text-3);text-decoration:none}
nav ul{list-style:none;margin:0;padding:0}
nav li a{display:flex;gap:.55rem;align-items:baseline;padding:.16rem .4rem;margin-left:-.4rem;border-radius:6px;
  color:var(--text);text-decoration:none;font-family:var(--mono);font-size:.8125rem;overflow-wrap:anywhere}
nav li a:hover{background:var(--accent-soft)}
main{padding:1rem clamp(1rem,3vw,2.5rem) 6rem;min-width:0}
h1{font-size:clamp(1.9rem,5vw,2.6rem);line-height:1.15;letter-spacing:-.025em;margin:1rem 0}
h2{letter-spacing:-.015em;line-height:1.25}
.intro{max-width:46rem}.intro h2{margin-top:2rem;font-size:1.15rem}
.group>h2{font-size:1.6rem;margin:3.5rem 0 .25rem}.group>p{color:var(--text-3);margin:0 0 1.25rem}
form{display:flex;flex-wrap:wrap;gap:.5rem .6rem;align-items:center;margin:1rem 0}
label{font-size:.9rem;color:var(--text-3)}
input,button{font:inherit;color:inherit;border:1px solid var(--line);border-radius:8px;padding:.4rem .7rem;
  background:var(--card);min-width:0}
input{font-family:var(--mono);font-size:.875rem;flex:0 1 14rem}
button{background:var(--accent-ground);border-color:var(--accent-ground);color:var(--on-accent);
  font-weight:600;cursor:pointer}
article{background:var(--card);border:1px solid var(--line);border-radius:8px;
  padding:1.1rem clamp(.9rem,2.5vw,1.5rem) .6rem;margin:0 0 1.1rem}
article:target{border-color:var(--accent);box-shadow:0 0 0 3px var(--accent-soft)}
h3{margin:0;font-size:1rem;font-weight:500}
h3 a{display:flex;flex-wrap:wrap;gap:.4rem .7rem;align-items:baseline;color:inherit;text-decoration:none}
.path{font-size:.9375rem;overflow-wrap:anywhere}var{font-style:normal;color:var(--accent)}
.verb{flex:none;font:700 .6875rem var(--mono);text-transform:uppercase;letter-spacing:.04em;min-width:4.1em;
  color:var(--run)}
h3 .verb{padding:.16rem .5rem;border:1px solid currentColor;border-radius:6px;text-align:center}
.verb.post{color:var(--good)}.verb.patch{color:var(--wait)}.verb.put{color:var(--late)}.verb.delete{color:var(--bad)}
.summary{margin:.6rem 0 0}.notes,.also{margin:.1rem 0 0;color:var(--text-3);font-size:.875rem}
pre{margin:.8rem 0;padding:.8rem 1rem;border-radius:8px;background:var(--sunk);
  border:1px solid var(--line);
  font-size:.8125rem;line-height:1.55;overflow-x:auto;-webkit-user-select:all;user-select:all}
[data-language]{display:none}
body:has(#language-curl:checked) [data-language=curl],body:has(#language-python:checked) [data-language=python],
body:has(#language-javascript:checked) [data-language=javascript],
body:has(#language-go:checked) [data-language=go]{display:block}
fieldset{display:flex;border:1px solid var(--line);border-radius:8px;padding:0;margin:0;overflow:hidden;flex:none}
fieldset label{padding:.3rem .7rem;cursor:pointer;font-size:.8125rem}
fieldset input{position:absolute;opacity:0;width:1px;flex:none}
fieldset label:has(:checked){background:var(--accent-soft);color:var(--accent);font-weight:600}
fieldset label:has(:focus-visible){outline:2px solid var(--accent);outline-offset:-2px}
.hidden{position:absolute;width:1px;height:1px;overflow:hidden;clip-path:inset(50%);white-space:nowrap}
[hidden]{display:none!important}.none{color:var(--text-3);font-size:.9rem;margin:.6rem 0}
#search{width:100%;border-color:var(--edge);font-family:inherit}
pre code{font-size:inherit;overflow-wrap:normal}
.fold{border-top:1px solid var(--line)}.fold>summary{padding:.5rem 0}.fold>div{padding-bottom:.7rem}
details summary{cursor:pointer;font-size:.875rem;font-weight:600;color:var(--text-3)}
details[open]>summary{color:var(--text)}summary::marker{color:var(--accent)}
.fold p{margin:.2rem 0 .6rem;font-size:.9rem}.media{color:var(--text-3);font-size:.8125rem!important}
table{border-collapse:collapse;width:100%;font-size:.875rem;line-height:1.45}
th{text-align:left;font-weight:600;color:var(--text-3);font-size:.75rem}
th,td{overflow-wrap:anywhere;padding:.4rem .9rem .4rem 0;vertical-align:top;border-bottom:1px solid var(--line)}
tr:last-child>td{border-bottom:0}
td td,td th{padding-left:.6rem}
@media (min-width:44.01rem){td:first-child>code,td:first-child>.needed{white-space:nowrap}}
.type{font-size:.78rem;color:var(--text-3)}td.type{min-width:9rem;max-width:20rem}.bound{display:block}
.needed{color:var(--late);font-size:.72rem;font-weight:600}
@media (max-width:44rem){.top{flex-wrap:wrap;row-gap:.4rem}
nav details{max-height:11.5rem;overflow:auto;border-bottom:1px solid var(--line)}
thead{display:none}table,tbody,tr,td{display:block}td{border:0;padding:.1rem 0}
tr{padding:.5rem 0;border-bottom:1px solid var(--line)}tr:last-child{border:0}td td{padding-left:.6rem}
.bound{display:inline}.bound::before{content:" · "}}
@media (min-width:64rem){.columns{grid-template-columns:18rem minmax(0,1fr)}
nav{position:sticky;top:3.2rem;align-self:start;max-height:calc(100vh - 3.2rem);overflow:auto;padding-bottom:2rem;
  border-right:1px solid var(--line)}
nav details>summary{display:none}}
@media print{nav,.top,form{display:none}article{break-inside:avoid}}
`;
