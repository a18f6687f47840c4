extension PageText {
  /// The form in which a value is edited, or a child added.
  static let editor = #"""
    // The JSON of what was typed, or what is wrong with it.
    function typedJSON(type, text) {
      if (type === 'string') return JSON.stringify(text);
      const trimmed = text.trim();
      if (type === 'number') {
        // Not through a script's number: it would lose digits of large integers.
        if (/^-?(0|[1-9]\d*)(\.\d+)?([eE][+-]?\d+)?$/.test(trimmed)) return trimmed;
        throw new Error('This is not a number as JSON writes it.');
      }
      if (type === 'boolean') {
        if (trimmed === 'true' || trimmed === 'false') return trimmed;
        throw new Error('A boolean is true or false.');
      }
      try { JSON.parse(trimmed); } catch (error) { throw new Error('No JSON: ' + error.message); }
      return trimmed;
    }
    function typedKey(key) {
      if (/[.#$\[\]\/\x00-\x1f\x7f]/.test(key)) {
        throw new Error('A key holds none of . # $ [ ] / and no control characters.');
      }
      if (new TextEncoder().encode(key).length > 768) {
        throw new Error('A key has at most 768 bytes.');
      }
      return key;
    }

    async function edit(path) {
      const item = itemOf(path);
      if (!item) return;
      if (isDocuments()) return editDocument(path);
      try {
        let [type, text] = [item.type, item.text];
        if (type === 'object' || type === 'server' || type === 'null') {
          if (item.bytes > 200000) {
            return say('This node is too large to be edited as a whole: export and import it.');
          }
          const response = await ask(own('export.json', { path, pretty: 1 }));
          [type, text] = ['JSON', await response.text()];
        } else if (item.cut) {
          const whole = await (await ask(own('export.json', { path }))).json();
          text = typeof whole === 'string' ? whole : whole['.value'];
        }
        S.edit = { path, isNew: false, type, text,
          priority: type === 'JSON' ? undefined : item.priority };
        render();
      } catch (error) { failed(error); }
    }
    function add(path) {
      const item = itemOf(path);
      if (!item) return;
      if (isDocuments()) return addToDocument(path);
      if (item.type !== 'object' && item.type !== 'null') {
        return say('A value has no children. Edit it as JSON to make it a node.');
      }
      S.edit = { path, isNew: true, type: 'string', text: '' };
      render();
    }

    function editor() {
      const task = S.edit;
      const type = el('select', { 'aria-label': 'Type' });
      for (const name of task.types || ['string', 'number', 'boolean', 'JSON']) {
        type.append(el('option', { value: name, selected: name === task.type }, name));
      }
      const text = el('textarea', { 'aria-label': 'Value', spellcheck: 'false' });
      text.value = task.text;
      text.rows = Math.min(14, task.text.split('\n').length);
      const hint = task.hint === undefined ? 'key; none: a push id' : task.hint;
      const key = task.isNew && hint !== null ? el('input', { 'aria-label': 'Key', spellcheck: 'false',
        autocomplete: 'off', placeholder: hint }) : null;
      const wrong = el('output', { role: 'alert' });
      const where = (task.isNew ? 'Add a child to ' : 'Edit ') + task.path;
      let last = task.text;
      const form = el('form', { class: 'editor', role: 'group', 'aria-label': where }, key, type,
        text, el('button', { type: 'submit' }, task.isNew ? 'Add' : 'Save'),
        el('button', { type: 'button', onclick: leave }, 'Cancel'), wrong);
      type.addEventListener('change', () => {
        text.hidden = type.value === 'collection';
        if (type.value === 'collection') key.placeholder = 'collection/document';
        else if (key) key.placeholder = hint;
        // What nobody has typed makes room for what the type begins with.
        if (task.types && text.value === last && (task.isNew || last === '')) {
          text.value = last = blank(type.value) || '';
        } else if (type.value === 'boolean' && !/^(true|false)$/.test(text.value)) text.value = 'true';
      });
      form.addEventListener('keydown', (event) => {
        if (event.key === 'Escape') leave();
        else if (event.key === 'Enter' && !event.shiftKey && !event.isComposing
          && event.target.tagName !== 'BUTTON') form.requestSubmit();
        else return;
        event.preventDefault();
      });
      form.addEventListener('submit', async (event) => {
        event.preventDefault();
        if (form.isBusy) return;
        form.isBusy = true;
        wrong.textContent = '';
        try {
          if (task.save) await task.save(key && key.value, type.value, text.value);
          else {
            await save(task, key ? typedKey(key.value) : null, typedJSON(type.value, text.value),
              type.value);
          }
          if (S.edit === task) leave();
        } catch (error) {
          wrong.textContent = error.message;
        }
        form.isBusy = false;
      });
      queueMicrotask(() => {
        (key || text).focus();
        if (!key) text.select();
        form.scrollIntoView({ block: 'nearest' });
      });
      return form;
    }
    function leave() {
      S.edit = null;
      render();
      backToTree();
    }

    async function save(task, key, json, type) {
      const headers = { 'Content-Type': 'application/json' };
      if (!task.isNew) {
        // A value that is replaced keeps its priority.
        const body = task.priority === undefined || type === 'JSON' ? json
          : '{".value":' + json + ',".priority":' + task.priority + '}';
        await ask(rest(task.path, { print: 'silent' }), { method: 'PUT', body, headers });
        return refresh();
      }
      let path;
      if (key === '') {
        const answer = await ask(rest(task.path), { method: 'POST', body: json, headers });
        path = join(task.path, (await answer.json()).name);
      } else {
        path = join(task.path, key);
        const there = await ask(rest(path, { shallow: 'true' }));
        if ((await there.text()).trim() !== 'null') throw new Error('There is such a child: edit it.');
        // Nobody may have written it in between.
        await ask(rest(path, { print: 'silent' }),
          { method: 'PUT', body: json, headers: { ...headers, 'if-match': 'null_etag' } });
      }
      S.open.add(task.path);
      S.edit = null;
      await refresh();
      if (rowOf(path)) choose(path);
    }
    """#
}
