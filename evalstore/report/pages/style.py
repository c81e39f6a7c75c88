"""The style of the HTML pages: light and dark, from 320 pixels up, and on paper; no fonts or images to load."""

STYLE = """
:root{color-scheme:light dark;--ink:#1b1f23;--quiet:#59626d;--paper:#fff;--panel:#f6f7f9;--edge:#e0e3e8;--firm:#868e98;
--up:#0a6b52;--down:#b1361e;--mark:#2f5d9f;--rail:#e9ecf0;--shade:#eef2f9}
@media (prefers-color-scheme:dark){:root{--ink:#e4e6e9;--quiet:#a0a9b4;--paper:#14171a;--panel:#1b1f23;--edge:#2c3238;
--firm:#7d8691;--up:#4fc3a1;--down:#f08a70;--mark:#8ab4f8;--rail:#2a3037;--shade:#212a38}}
*{box-sizing:border-box}
body{margin:0 auto;max-width:78rem;padding:2rem 1.5rem 3rem;background:var(--paper);color:var(--ink);
font:1rem/1.5 system-ui,sans-serif;overflow-wrap:anywhere}
h1{font-size:.95rem;margin:0;color:var(--quiet);font-weight:600}
h2{font-size:1.15rem;line-height:1.3;margin:2.6rem 0 .6rem}
h3{font-size:.95rem;margin:1.1rem 0 .3rem}
p{margin:.4rem 0;max-width:60rem}
.answer{font-size:1.45rem;line-height:1.35;margin:.3rem 0 1.4rem;text-wrap:pretty}
.quiet,caption,th,td:before{color:var(--quiet)}
.up{color:var(--up)}
.down{color:var(--down)}
table{border-collapse:collapse;width:100%;font-variant-numeric:tabular-nums}
caption{text-align:left;padding:0 0 .5rem;font-size:.85rem;max-width:60rem}
thead th{font-size:.8rem}
th{text-align:left;font-weight:600;font-size:.9rem;overflow-wrap:normal}
th,td{padding:.4rem .9rem .4rem 0;border-bottom:1px solid var(--edge);vertical-align:top;unicode-bidi:isolate}
thead th,thead td{border-color:var(--firm);vertical-align:bottom;padding-top:.2rem;padding-bottom:.3rem}
th:last-child,td:last-child{padding-right:0}
tbody th{color:var(--ink);font-size:1rem}
tbody th.words{font-weight:400;font-size:1rem;width:30%}
.words code{white-space:nowrap}
.n{text-align:right;white-space:nowrap}
td svg{display:block;width:100%;min-width:6rem;height:1.5em}
td.bar{width:20%}
td.words{min-width:8rem}
td.refs{min-width:14rem;font-size:.9rem}
svg rect,svg line{vector-effect:non-scaling-stroke}
.rise{fill:var(--up);stroke:var(--up)}
.fall{fill:var(--down);stroke:var(--down)}
.open{fill:none}
.mark{fill:var(--mark)}
.bar rect.bar{fill:var(--firm)}
.rail{fill:var(--rail)}
.level{stroke:var(--firm);fill:none;stroke-width:1}
code,pre{font-family:ui-monospace,monospace;font-size:.85em}
pre{margin:.3rem 0;padding:.6rem .7rem;background:var(--panel);border-radius:.25rem;white-space:pre-wrap;overflow:auto;
max-height:30rem;unicode-bidi:plaintext;line-height:1.4}
fieldset{border:0;padding:0;margin:0 0 .8rem;display:grid;gap:.6rem .9rem;
grid-template-columns:repeat(auto-fit,minmax(9.5rem,1fr))}
legend{font-size:.85rem;color:var(--quiet);padding:0;margin-bottom:.2rem}
fieldset label{display:grid;gap:.2rem;font-size:.85rem;min-width:0}
select{font:inherit;font-size:1rem;width:100%;min-width:0;padding:.35rem .3rem;color:inherit;background:var(--paper);
border:1px solid var(--firm);border-radius:.25rem}
details{border-bottom:1px solid var(--edge)}
.list>.q:first-of-type{border-top:1px solid var(--edge)}
summary{padding:.45rem .3rem;cursor:pointer}
summary:hover{background:var(--panel)}
summary b,.badge{unicode-bidi:isolate}
details>div{padding:.1rem 0 1rem 1.2rem}
.badge{font-size:.8rem;font-weight:600;border:1px solid;border-radius:.25rem;padding:0 .35rem;white-space:nowrap;
justify-self:start}
.two{display:grid;gap:.8rem;grid-template-columns:repeat(auto-fit,minmax(min(18rem,100%),1fr))}
.two>div{min-width:0}
.square{max-width:36rem;margin:.4rem 0}
.square td{text-align:center;background:var(--shade);border:2px solid var(--paper);padding:.4rem}
.square td:empty{background:none}
.square th{border:0;font-weight:400}
.ref{display:inline-block}
.below{display:block;font-size:.8rem;color:var(--quiet)}
.day{white-space:nowrap}
ul{margin:.3rem 0;padding-left:1.1rem}
li{margin:.15rem 0}
dl{display:grid;grid-template-columns:max-content 1fr;gap:.15rem 1rem;margin:.4rem 0}
dt{color:var(--quiet);font-size:.9rem}
dd{margin:0;min-width:0}
a{color:var(--mark)}
:focus-visible{outline:3px solid var(--mark);outline-offset:2px;border-radius:.15rem}
:target{background:var(--shade)}
ins,del{text-decoration:none}
ins{color:var(--up)}
del{color:var(--down)}
.tell{color:var(--mark)}
.change{padding:.8rem 0;border-bottom:1px solid var(--edge)}
.change h3{margin:0;font-size:1.05rem}
.change details{border:0}
.change>.quiet{font-size:.85rem}
.exchange>*{display:block}
.list{counter-reset:shown}
.list .q{counter-increment:shown}
.count:after{content:counter(shown)}
@media screen and (max-width:60rem){
body{padding:1.2rem 1rem 2rem}
.stack thead{position:absolute;clip-path:inset(50%);height:1px;width:1px;overflow:hidden}
.stack tbody{border-top:1px solid var(--firm);display:block}
.stack,.stack caption{display:block}
.stack tr{display:block;padding:.5rem 0;border-bottom:1px solid var(--edge)}
.stack td,.stack tbody th{display:block;border:0;padding:.1rem 0;width:auto;text-align:left;white-space:normal}
.stack td[data-name]{display:grid;grid-template-columns:6.5rem 1fr;align-items:baseline}
.stack td[data-name]:before{content:attr(data-name);font-size:.85rem}
.stack td.n[data-name]{display:inline-flex;gap:.5rem;margin-right:1.3rem}
.stack td:empty,.stack td.n:empty[data-name]{display:none}
.stack tbody th{padding-bottom:.2rem}
.stack td.bar{width:auto;max-width:24rem}
.stack td.bar svg{height:1rem}
.stack .words,.stack .refs{min-width:0;width:auto}
.stack .words code{white-space:normal}
.answer{font-size:1.2rem}
details>div{padding-left:.3rem}
}
@media screen and (max-width:30rem){dl{grid-template-columns:1fr;gap:0}dd{margin-bottom:.3rem}}
@media print{
:root{--ink:#000;--quiet:#333;--paper:#fff;--panel:#fff;--edge:#bbb;--firm:#666;--up:#0a6b52;--down:#b1361e;
--mark:#2456a6;--rail:#e4e4e4;--shade:#eee}
html{font-size:8.5pt}
body{max-width:none;padding:0}
fieldset{display:none}
pre{max-height:none;border:1px solid var(--edge)}
svg{print-color-adjust:exact;-webkit-print-color-adjust:exact}
details::details-content{content-visibility:visible;block-size:auto}
summary,tr,h2,h3{break-inside:avoid}
summary,h2,h3,thead{break-after:avoid}
}
"""
