extension PageText {
  /// Deleting and undoing it, export and import, and the tools above the tree.
  static let changes = #"""
    // More than this is not kept in the page to undo a deletion.
    const UNDOABLE = 1000000;
    async function remove(path) {
      const item = itemOf(path);
      if (!item || item.type === 'null') return;
      if (isDocuments()) return removeDocument(path);
      try {
        const isLarge = item.bytes > UNDOABLE || path === '/';
        if (isLarge) {
          const size = item.bytes === undefined ? '' : ' (' + bytes(item.bytes) + ')';
          const words = (path === '/' ? 'Delete all data of ' + S.space : 'Delete ' + path) + size
            + '? This cannot be undone.';
          if (await question(words, 'Delete') === null) return;
          await ask(rest(path, { print: 'silent' }), { method: 'DELETE' });
          say('Deleted ' + path + '.');
        } else {
          const kept = await ask(rest(path, { format: 'export' }),
            { headers: { 'X-Firebase-ETag': 'true' } });
          const tag = kept.headers.get('etag');
          const text = await kept.text();
          await ask(rest(path, { print: 'silent' }),
            { method: 'DELETE', headers: tag ? { 'if-match': tag } : {} });
          S.undo.push({ space: S.space, path, text });
          if (S.undo.length > 20) S.undo.shift();
          say('Deleted ' + path + '.', true);
        }
        await refresh();
        backToTree();
      } catch (error) {
        if (error.status === 412) say(path + ' changed just now. Look at it, then delete it again.');
        else failed(error);
      }
    }
    async function undo() {
      const last = S.undo.pop();
      if (!last) return say('There is no deletion to undo.');
      if (last.back) return undoInDocuments(last);
      const steps = S.steps;
      try {
        const url = rest(last.path, { ns: last.space });
        const now = await ask(url, { headers: { 'X-Firebase-ETag': 'true' } });
        if ((await now.text()).trim() !== 'null') {
          S.undo.push(last);
          return say('There is new data at ' + last.path + ', which stays: nothing was undone.');
        }
        const tag = now.headers.get('etag');
        const headers = { 'Content-Type': 'application/json', ...(tag ? { 'if-match': tag } : {}) };
        await ask(url + '&print=silent', { method: 'PUT', body: last.text, headers });
        say(last.path + ' is back.', S.undo.length > 0);
        await refresh();
        // A user who moved meanwhile stays where they are, because their next key press is meant
        // for another node.
        if (rowOf(last.path) && S.steps === steps) choose(last.path);
      } catch (error) {
        S.undo.push(last);
        failed(error);
      }
    }

    async function download(path) {
      try {
        say('Exporting ' + path + ' …');
        const blob = await (await ask(own('export.json', { path }))).blob();
        const url = URL.createObjectURL(blob);
        const name = [S.space, ...keysOf(path)].join('-').replace(/[^\w.-]+/gu, '_').slice(0, 100);
        el('a', { href: url, download: name + '.json' }).click();
        setTimeout(() => URL.revokeObjectURL(url), 60000);
        say('Exported ' + path + ', ' + bytes(blob.size) + '.');
      } catch (error) { failed(error); }
    }
    async function upload(path, file) {
      try {
        const words = 'Replace all data at ' + path + ' with ' + file.name + ', '
          + bytes(file.size) + '? This cannot be undone.';
        if (await question(words, 'Replace') === null) return;
        say('Importing ' + file.name + ' …');
        await ask(rest(path, { print: 'silent' }), { method: 'PUT', body: file,
          headers: { 'Content-Type': 'application/json' } });
        S.open.add(path);
        say('Imported ' + file.name + ' to ' + path + '.');
        await refresh();
      } catch (error) { failed(error); }
    }

    function buttons() {
      const row = rowOf(S.chosen);
      const item = row && row.item;
      $('up').disabled = S.root === '/';
      const isField = item && isDocuments() && ['document', 'field'].includes(placeOf(S.chosen).kind);
      $('edit').disabled = $('delete').disabled =
        !item || item.type === 'null' || isDocuments() && !isField;
      $('add').disabled = !item || item.type !== 'object' && item.type !== 'null';
      $('import').disabled = $('export').disabled = !item;
    }
    $('edit').onclick = () => edit(S.chosen);
    $('add').onclick = () => add(S.chosen);
    $('delete').onclick = () => remove(S.chosen);
    $('export').onclick = () => download(S.chosen);
    $('import').onclick = () => { $('file').value = ''; $('file').click(); };
    $('file').onchange = () => { if ($('file').files[0]) upload(S.chosen, $('file').files[0]); };
    // A file that is dropped on a node replaces it. Anywhere else the browser would leave the page to show it.
    for (const kind of ['dragover', 'drop']) {
      addEventListener(kind, (event) => {
        if (!event.dataTransfer || !event.dataTransfer.types.includes('Files')) return;
        event.preventDefault();
        const node = event.target.closest && event.target.closest('[role=treeitem]');
        const row = node && S.rows.find((row) => S.nodes.get(row.id) === node);
        const mayDrop = row && row.item && S.facts.writable && !isDocuments();
        event.dataTransfer.dropEffect = mayDrop ? 'copy' : 'none';
        if (kind === 'drop' && mayDrop && event.dataTransfer.files[0]) {
          choose(row.id);
          upload(row.id, event.dataTransfer.files[0]);
        }
      });
    }
    $('up').onclick = () => go(above(S.root));
    $('undo').onclick = undo;
    $('dismiss').onclick = () => { hush(); backToTree(); };
    $('path').onkeydown = (event) => {
      if (event.key === 'Enter') go(pathOf(keysOf($('path').value))).then(backToTree);
      else if (event.key === 'Escape') { $('path').value = S.root; backToTree(); }
    };
    """#
}
