/// The page: one document that loads nothing else.
enum PageText {
  /// The document; only styles and scripts with the nonce run in it.
  static func html(nonce: String) -> String {
    """
    <!DOCTYPE html>
    <html lang="en">
    <head>
    <meta charset="utf-8">
    <meta name="viewport" content="width=device-width, initial-scale=1">
    <meta name="color-scheme" content="light dark">
    <title>Conifer</title>
    <link rel="icon" href="\(icon)">
    <style nonce="\(nonce)">
    \(styles)
    </style>
    </head>
    <body>
    \(body)
    <script nonce="\(nonce)">
    \(scripts)
    </script>
    </body>
    </html>
    """
  }

  private static let styles = compact(style)
  private static let scripts = [
    base, values, documents, tree, editor, changes, documentChanges, query, tables, live,
  ].map(compact).joined(separator: "\n")

  /// Removes indentation and comment lines; no string in the page spans lines.
  private static func compact(_ text: String) -> String {
    text.split(separator: "\n").map { $0.drop { $0 == " " } }.filter { !$0.hasPrefix("//") }
      .joined(separator: "\n")
  }

  private static let icon =
    "data:image/svg+xml,%3Csvg xmlns='http://www.w3.org/2000/svg' viewBox='0 0 16 16'%3E"
    + "%3Cpath d='M8 0 3 6h2L1 11h6v5h2v-5h6l-4-5h2z' fill='%23287a4b'/%3E%3C/svg%3E"

  private static let body = #"""
    <header>
      <h1 id="title">Conifer</h1>
      <label id="space-label"><span id="space-word">Namespace</span>
        <select id="space"></select></label>
      <span id="state" role="status">connecting …</span>
      <div id="traffic" hidden>
        <svg id="chart" role="img" viewBox="0 0 120 28" preserveAspectRatio="none"></svg>
        <span id="rate"></span>
      </div>
    </header>
    <p id="facts"></p>
    <div id="tabs" role="tablist" aria-label="Views"></div>
    <main>
      <section id="panel-data" role="tabpanel" aria-labelledby="tab-data">
        <div id="tools" role="toolbar" aria-label="The chosen node">
          <label>Path <input id="path" spellcheck="false" autocomplete="off"></label>
          <button id="up" title="Show the node above">Up</button>
          <span class="writes">
            <button id="edit" title="Enter or F2">Edit</button>
            <button id="add" title="Insert or +">Add child</button>
            <button id="delete" title="Delete">Delete</button>
            <button id="import" class="of-nodes">Import …</button>
          </span>
          <button id="export" class="of-nodes">Export</button>
          <input id="file" type="file" accept=".json,application/json" hidden>
        </div>
        <div id="tree" role="tree" aria-label="Data"></div>
        <details id="keys"><summary>Keys</summary>
          <p>↑ ↓ Home End: move · → open, or to the first child · ← close, or to the node above ·
          Enter: open or close a node<span class="writes">, edit a value · F2: edit, a node as JSON ·
          Insert or +: add a child · Delete: delete · Ctrl+Z: undo the last deletion · in the editor
          Enter saves, Shift+Enter is a new line, Escape leaves</span> · letters: to a key</p>
        </details>
      </section>
      <section id="panel-table" role="tabpanel" hidden><div id="table"></div></section>
      <section id="panel-query" role="tabpanel" aria-labelledby="tab-query" hidden>
        <form id="query" aria-label="Query">
          <p class="line"><label>Collection <input id="q-from" spellcheck="false" autocomplete="off"></label>
            <label><input id="q-group" type="checkbox"> all collections with this id</label></p>
          <div id="q-filters"></div>
          <div id="q-orders"></div>
          <p class="line"><button type="button" id="q-filter">Add filter</button>
            <label>of several <select id="q-any"><option value="AND">all hold</option>
              <option value="OR">one holds</option></select></label>
            <button type="button" id="q-order">Add order</button>
            <label>Limit <input id="q-limit" value="100" size="6" inputmode="numeric"></label>
            <button id="q-run">Run</button></p>
          <output id="q-wrong" role="alert"></output>
        </form>
        <p id="q-facts" role="status"></p>
        <div id="q-result"></div>
      </section>
    </main>
    <div id="toast" role="status" hidden><span id="toast-words"></span>
      <button id="undo" hidden>Undo</button>
      <button id="dismiss" aria-label="Dismiss">×</button></div>
    <dialog id="dialog" aria-labelledby="question">
      <p id="question"></p>
      <input id="answer" spellcheck="false" autocomplete="off" aria-labelledby="question">
      <p class="buttons"><button id="no">Cancel</button> <button id="yes">OK</button></p>
    </dialog>
    """#
}
