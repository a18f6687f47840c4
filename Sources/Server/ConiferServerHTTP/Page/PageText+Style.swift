extension PageText {
  static let style = #"""
    :root { color-scheme: light dark; --back: #fff; --front: #1d2420; --soft: #58645c;
      --line: #d5ddd7; --bar: #f2f6f3; --own: #1f6f43; --pick: #d9efe2; --fresh: #fff2a8;
      --string: #8a3b12; --number: #1750b8; --boolean: #7a2a8f; --bad: #b3261e; }
    @media (prefers-color-scheme: dark) {
      :root { --back: #14181a; --front: #e3e9e5; --soft: #a0ada5; --line: #39423d;
        --bar: #1d2326; --own: #6fcf97; --pick: #1f4231; --fresh: #5a4d0a;
        --string: #f0a878; --number: #8ab4f8; --boolean: #d7a1e8; --bad: #ff8a80; } }
    * { box-sizing: border-box; }
    [hidden] { display: none !important; }
    body { margin: 0; background: var(--back); color: var(--front);
      font: 15px/1.45 system-ui, sans-serif; }
    header { display: flex; flex-wrap: wrap; align-items: center; gap: .4rem 1rem;
      padding: .5rem 1rem; background: var(--bar); border-bottom: 1px solid var(--line); }
    h1 { font-size: 1.05rem; margin: 0; color: var(--own); overflow-wrap: anywhere; }
    #space { max-width: 16rem; }
    #state::before { content: "●"; color: var(--own); margin-right: .35em; }
    #state.off::before { color: var(--bad); }
    #traffic { margin-left: auto; display: flex; align-items: center; gap: .5rem; }
    #chart { width: 9rem; height: 1.75rem; border-bottom: 1px solid var(--line); }
    #chart polygon { fill: var(--pick); }
    #chart polyline { fill: none; stroke: var(--own); stroke-width: 1.5;
      vector-effect: non-scaling-stroke; }
    #rate { font-variant-numeric: tabular-nums; min-width: 6.5em; }
    #facts { margin: .4rem 1rem; color: var(--soft); font-size: .9rem; }
    #tabs { display: flex; flex-wrap: wrap; gap: .25rem; padding: 0 1rem;
      border-bottom: 1px solid var(--line); }
    [role=tab] { border: 1px solid transparent; border-bottom: 0; background: none;
      border-radius: .4rem .4rem 0 0; color: var(--soft); }
    [role=tab][aria-selected=true] { color: var(--front); background: var(--back);
      border-color: var(--line); margin-bottom: -1px; font-weight: 600; }
    main { padding: .6rem 1rem 4rem; }
    #tools { display: flex; flex-wrap: wrap; gap: .35rem; align-items: center;
      padding: .3rem 0; position: sticky; top: 0; background: var(--back); z-index: 1; }
    #tools label { flex: 1 1 14rem; display: flex; gap: .5rem; align-items: center; }
    #path { flex: 1; min-width: 6rem; }
    .read-only .writes, .of-documents .of-nodes { display: none; }
    button, select, input, textarea { font: inherit; color: inherit; background: var(--back);
      border: 1px solid var(--line); border-radius: .3rem; padding: .2rem .6rem; }
    button { cursor: pointer; background: var(--bar); }
    button:disabled { opacity: .5; cursor: default; }
    :focus-visible { outline: 2px solid var(--own); outline-offset: 1px; }
    #tree { font: 14px/1.6 ui-monospace, "DejaVu Sans Mono", monospace; overflow-x: auto; }
    #tree { --step: min(1.2rem, 3vw); }
    .row { display: flex; gap: .5em; white-space: pre; border-radius: .25rem; cursor: default;
      width: max-content; min-width: 100%;
      padding: 0 .4rem 0 calc(var(--level) * var(--step)); }
    .row:hover { background: var(--bar); }
    .row[aria-selected=true] { background: var(--pick); }
    .row:focus-visible { outline-offset: -2px; }
    .twist { width: 1em; flex: none; color: var(--soft); text-align: center; }
    .key { font-weight: 600; max-width: 40ch; flex: none; }
    .value { max-width: max(24ch, calc(100vw - 16ch - var(--level) * var(--step))); }
    .key, .value { scroll-margin: 7rem 0 5rem; overflow: hidden; text-overflow: ellipsis; unicode-bidi: isolate; }
    .string { color: var(--string); } .number { color: var(--number); }
    .boolean, .server { color: var(--boolean); }
    .null, .object, .note { color: var(--soft); flex: none; }
    .note { font-size: .85em; }
    .fresh { animation: fresh 1.2s; }
    @keyframes fresh { from { background: var(--fresh); } }
    @media (prefers-reduced-motion: reduce) { .fresh { animation: none; } }
    .editor { display: flex; min-width: 16rem; flex-wrap: wrap; gap: .35rem; align-items: start;
      margin: .2rem 0 .3rem calc(var(--level) * var(--step) + 1.5em); padding: .4rem;
      border: 1px solid var(--own); border-radius: .4rem; background: var(--bar); }
    .editor textarea { flex: 1 1 14rem; min-width: 8rem; min-height: 2rem; resize: vertical;
      font: inherit; }
    .editor output { flex: 1 0 100%; color: var(--bad); white-space: pre-wrap;
      overflow-wrap: anywhere; font-family: system-ui, sans-serif; }
    .editor output:empty { display: none; }
    .line { display: flex; flex-wrap: wrap; gap: .35rem; align-items: center; margin: .35rem 0; }
    .line label { display: flex; gap: .4rem; align-items: center; }
    .line textarea { flex: 1 1 8rem; min-width: 6rem; resize: vertical; }
    #query, #q-result { overflow-wrap: anywhere; }
    #query output { color: var(--bad); white-space: pre-wrap; }
    #q-result ul { list-style: none; padding: 0; }
    #keys { margin-top: 1rem; color: var(--soft); }
    #table { overflow-x: auto; }
    table { border-collapse: collapse; min-width: 100%; }
    th, td { text-align: left; vertical-align: top; padding: .3rem .8rem .3rem 0;
      border-bottom: 1px solid var(--line); overflow-wrap: break-word; max-width: 60ch; }
    th { color: var(--soft); font-weight: 600; white-space: nowrap; }
    td.figure, th.figure { text-align: right; font-variant-numeric: tabular-nums;
      white-space: nowrap; }
    td ul { margin: .2rem 0; padding-left: 1.1rem; }
    .link { border: 0; background: none; padding: 0; color: var(--own); text-align: left;
      text-decoration: underline; overflow-wrap: anywhere; }
    .empty { color: var(--soft); }
    #toast { position: fixed; left: 1rem; right: 1rem; bottom: 1rem; max-width: 44rem;
      margin: auto; display: flex; gap: .6rem; align-items: center; padding: .5rem .8rem;
      background: var(--front); color: var(--back); border-radius: .5rem; z-index: 2; }
    #toast span { flex: 1; overflow-wrap: anywhere; }
    #toast button { background: none; color: inherit; border-color: currentColor; }
    #toast button:focus-visible { outline-color: currentColor; }
    dialog { background: var(--back); color: inherit; border: 1px solid var(--line);
      border-radius: .5rem; max-width: min(32rem, 90vw); overflow-wrap: anywhere; }
    dialog::backdrop { background: #0008; }
    dialog input { width: 100%; }
    .buttons { display: flex; justify-content: flex-end; gap: .5rem; margin-bottom: 0; }
    """#
}
