extension PageText {
  /// Changes of documents: each is made only while the document is as the page has shown it.
  static let documentChanges = #"""
    // A path of fields as REST names it.
    const fieldPath = (names) => names.map((name) => /^[A-Za-z_]\w*$/.test(name) ? name
      : '`' + name.replace(/[\\`]/g, '\\$&') + '`').join('.');
    const isAsItWas = (time) => time ? { 'currentDocument.updateTime': time }
      : { 'currentDocument.exists': 'false' };

    // The JSON of a value with another value at a path of names; null removes it.
    function replaced(value, names, json) {
      if (names.length === 0) return json;
      const [name, ...rest] = names;
      if (value.type === 'map') {
        const pairs = value.pairs.map(([own, one]) =>
          [own, own === name ? replaced(one, rest, json) : jsonOf(one)]);
        if (!value.pairs.some((pair) => pair[0] === name)) pairs.push([name, json]);
        return '{"mapValue":{"fields":{' + pairs.filter((pair) => pair[1] !== null)
          .map(([own, one]) => JSON.stringify(own) + ':' + one).join(',') + '}}}';
      }
      const values = value.values.map(jsonOf);
      const index = Number(name);
      values[index] = index < value.values.length ? replaced(value.values[index], rest, json) : json;
      return '{"arrayValue":{"values":[' + values.filter((one) => one !== null).join(',') + ']}}';
    }
    // What is sent to change a field: REST names fields down to arrays, which are sent whole.
    function changeOf(document, names, json) {
      let value = { type: 'map', pairs: document.pairs || [] };
      for (let depth = 0; depth < names.length; depth += 1) {
        if (value && value.type === 'array') {
          const rest = names.slice(depth);
          return { mask: names.slice(0, depth), json: replaced(value, rest, json) };
        }
        value = value && childAt(value, [names[depth]]);
      }
      return { mask: names, json };
    }
    function nested(names, json) {
      if (json === null) return '{}';
      const [name, ...rest] = names;
      const inner = rest.length === 0 ? json : '{"mapValue":{"fields":' + nested(rest, json) + '}}';
      return '{' + JSON.stringify(name) + ':' + inner + '}';
    }
    // Changes one field, or removes it where the JSON is null; gives when that was made.
    async function writeField(place, document, names, json) {
      const change = changeOf(document, names, json);
      const answer = await ask(placeURL(place.ids, { 'updateMask.fieldPaths': fieldPath(change.mask),
        'mask.fieldPaths': '', ...isAsItWas(document.time) }),
        { method: 'PATCH', headers: asJSON, body: '{"fields":' + nested(change.mask, change.json) + '}' });
      return (await answer.json()).updateTime;
    }

    async function current(place) {
      const document = D.documents.get(place.document) || await loadDocument(place.ids);
      D.documents.set(place.document, document);
      return document;
    }
    const isConflict = (error) => ['FAILED_PRECONDITION', 'ALREADY_EXISTS'].includes(error.word);

    // Saves what an editor has. If the document is another than when the editor was opened, nothing is saved, and the
    // editor stays as it is.
    async function saveDocument(task, change) {
      const place = task.place;
      const document = D.documents.get(place.document) || { pairs: null };
      try {
        if (document.time !== task.time) throw new Refused(409, '', 'FAILED_PRECONDITION');
        await change(document);
      } catch (error) {
        if (!isConflict(error)) throw error;
        D.documents.delete(place.document);
        const now = await current(place);
        task.time = now.time;
        await refresh();
        throw new Error('Somebody ' + (now.pairs ? 'changed' : 'deleted') + ' the document since you began. '
          + 'Nothing was saved, and what you wrote is still here. Look at '
          + (now.pairs ? 'the document as it is now' : 'what is there now')
          + ', then save again if it should be as you wrote.');
      }
    }

    async function editDocument(path) {
      const place = placeOf(path);
      if (place.kind === 'root' || place.kind === 'collection') {
        return say('A collection has no fields. Open it, and edit its documents.');
      }
      try {
        const document = await current(place);
        if (!document.pairs) return say('There is no document here. Add a field to make it.');
        const value = childAt({ type: 'map', pairs: document.pairs }, place.fields);
        if (!value) return;
        const text = textOf(value);
        if (text.length > 200000 && value.type !== 'string') {
          return say('This is too large to be edited as a whole. Open it, and edit what is in it.');
        }
        const isWhole = place.kind === 'document';
        const task = S.edit = { path, place, isNew: false, type: value.type, text,
          time: document.time, types: isWhole ? ['map'] : TYPE_NAMES };
        task.save = (_, type, typed) => saveDocument(task, async (now) => {
          if (!isWhole) return writeField(place, now, place.fields, typedValue(type, typed));
          await ask(placeURL(place.ids, { 'mask.fieldPaths': '', ...isAsItWas(now.time) }),
            { method: 'PATCH', headers: asJSON, body: '{"fields":' + typedFields(typed) + '}' });
        }).then(refresh);
        render();
      } catch (error) { failed(error); }
    }

    // The name of a new place: its prompt, and the kinds that may be made there.
    const NEW = {
      root: { hint: 'collection/document', types: ['map'], type: 'map', text: '{}' },
      collection: { hint: 'id; none: one is made', types: ['map'], type: 'map', text: '{}' },
      document: { hint: 'name', types: [...TYPE_NAMES, 'collection'], type: 'string', text: '' },
      map: { hint: 'name', types: TYPE_NAMES, type: 'string', text: '' },
      array: { hint: null, types: TYPE_NAMES, type: 'string', text: '' },
    };
    async function addToDocument(path) {
      const place = placeOf(path);
      try {
        let kind = place.kind;
        let time;
        if (kind === 'document' || kind === 'field') {
          const document = await current(place);
          time = document.time;
          if (kind === 'field') {
            const value = childAt({ type: 'map', pairs: document.pairs || [] }, place.fields);
            kind = value && value.type;
          }
        }
        if (!NEW[kind]) return say('A value has nothing in it. Add to a map, an array or a document.');
        const task = S.edit = { path, place, isNew: true, time, ...NEW[kind] };
        task.save = (key, type, typed) => kind === 'root' || kind === 'collection' || type === 'collection'
          ? makeDocument(task, key, type === 'collection' ? '{}' : typedFields(typed))
          : saveDocument(task, (now) => addField(task, now, key, typedValue(type, typed)));
        render();
      } catch (error) { failed(error); }
    }
    async function addField(task, document, key, json) {
      const place = task.place;
      const holder = childAt({ type: 'map', pairs: document.pairs || [] }, place.fields);
      if (!holder) throw new Error('There is no such field any more.');
      const name = holder.type === 'array' ? String(holder.values.length) : key;
      if (place.fields.length === 0 && name === '') throw new Error('A field has a name.');
      if (childAt(holder, [name])) throw new Error('There is such a field: edit it.');
      await writeField(place, document, [...place.fields, name], json);
      await showNew(task, join(task.path, fieldSegment(name)));
    }
    async function makeDocument(task, key, fields) {
      const ids = [...task.place.ids, ...(task.place.kind === 'collection' ? [key] : key.split('/'))];
      if (ids.length % 2 === 1 || task.place.kind !== 'collection' && ids.includes('')) {
        throw new Error('A collection begins with a document: write collection/document.');
      }
      const id = ids.pop();
      try {
        const answer = await post(placeURL(ids, { ...(id === '' ? {} : { documentId: id }),
          'mask.fieldPaths': '' }), '{"fields":' + fields + '}');
        const made = answer.name.slice(S.space.length + 11).split('/');
        for (let count = 1; count < made.length; count += 1) {
          S.open.add('/' + made.slice(0, count).map(idSegment).join('/'));
        }
        await showNew(task, '/' + made.map(idSegment).join('/'));
      } catch (error) {
        if (error.word === 'ALREADY_EXISTS') throw new Error('There is such a document: edit it.');
        throw error;
      }
    }
    async function showNew(task, path) {
      S.open.add(task.path);
      if (S.edit === task) S.edit = null;
      const steps = S.steps;
      await refresh();
      // Whoever moved on meanwhile stays where they are.
      if (rowOf(path) && S.steps === steps) choose(path);
    }

    async function removeDocument(path) {
      const place = placeOf(path);
      if (place.kind === 'root' || place.kind === 'collection') {
        return say('A collection is there while it has documents. Delete these.');
      }
      const words = place.kind === 'field' ? 'the field ' + place.fields.map(shown).join('.')
        : 'the document ' + place.ids.map(shown).join('/');
      try {
        const document = await current(place);
        if (!document.pairs) return say('There is no document here, only what is below it.');
        if (place.kind === 'field') {
          const old = childAt({ type: 'map', pairs: document.pairs }, place.fields);
          if (!old) return;
          const change = changeOf(document, place.fields, null);
          const mended = changeOf(document, place.fields, jsonOf(old));
          const time = await writeField(place, document, place.fields, null);
          remembered(path, words, async () => {
            // An array that lost a value gets it back where it was.
            const json = change.json === null ? jsonOf(old) : mended.json;
            await ask(placeURL(place.ids, { 'updateMask.fieldPaths': fieldPath(change.mask),
              'mask.fieldPaths': '', ...isAsItWas(time) }),
              { method: 'PATCH', headers: asJSON, body: '{"fields":' + nested(change.mask, json) + '}' });
          });
        } else {
          await ask(placeURL(place.ids, isAsItWas(document.time)), { method: 'DELETE' });
          remembered(path, words, () => ask(placeURL(place.ids, { 'mask.fieldPaths': '',
            'currentDocument.exists': 'false' }),
            { method: 'PATCH', headers: asJSON, body: '{"fields":' + fieldsJSON(document.pairs) + '}' }));
        }
        D.documents.delete(place.document);
        await refresh();
        backToTree();
      } catch (error) {
        if (!isConflict(error)) return failed(error);
        D.documents.delete(place.document);
        await refresh();
        say('Somebody changed ' + words + ' just now. Look at it, then delete it again.');
      }
    }
    // Keeps how a deletion is undone.
    function remembered(path, words, back) {
      S.undo.push({ space: S.space, path, words, back });
      if (S.undo.length > 20) S.undo.shift();
      say('Deleted ' + words + '.', true);
    }
    async function undoInDocuments(last) {
      const steps = S.steps;
      if (last.space !== S.space) {
        S.undo.push(last);
        return say('The last deletion was in ' + last.space + ': show that to undo it.');
      }
      try {
        await last.back();
        D.documents.delete(placeOf(last.path).document);
        say('Brought back ' + last.words + '.', S.undo.length > 0);
        await refresh();
        if (rowOf(last.path) && S.steps === steps) choose(last.path);
      } catch (error) {
        S.undo.push(last);
        if (!isConflict(error)) return failed(error);
        say('There is something newer at ' + last.words + ', which stays: nothing was undone.');
      }
    }
    """#
}
