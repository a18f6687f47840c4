extension PageText {
  /// Databases of documents as a tree: collections, their documents, and the fields of these, by the documents' REST API.
  static let documents = #"""
    // Documents that are open, by their paths of the tree: when they were changed, and what is in them.
    const D = { documents: new Map() };
    // Another website may have written the address, so it must not lead to another place of the
    // server.
    const DATABASE = /^projects\/(?!\.\.?\/)[\w.:()-]{1,100}\/databases\/(?!\.\.?$)[\w.:()-]{1,100}$/;
    // An inspected store may have trees with such names. The page shows these as trees.
    const isDocuments = () => Boolean(S.facts && S.facts.databases) && DATABASE.test(S.space);

    // A segment of the tree's paths: a dot stands before names of fields, and ids do not begin with one.
    const escaped = (text) => text.replace(/[%\/]/g, (letter) => letter === '%' ? '%25' : '%2F');
    const idSegment = (id) => escaped(id).replace(/^\./, '%2E');
    const fieldSegment = (name) => '.' + escaped(name);
    const unescaped = (segment) => segment.replace(/%(25|2F|2E)/gi,
      (letters) => String.fromCharCode(parseInt(letters.slice(1), 16)));
    const nameOf = (segment) => !isDocuments() ? segment
      : unescaped(segment.startsWith('.') ? segment.slice(1) : segment);

    // What stands at a path: all collections, a collection, a document, or a field of one.
    function placeOf(path) {
      const segments = keysOf(path);
      const at = segments.findIndex((segment) => segment.startsWith('.'));
      const ids = (at < 0 ? segments : segments.slice(0, at)).map(unescaped);
      const fields = at < 0 ? [] : segments.slice(at).map(nameOf);
      const kind = ids.length === 0 ? 'root' : ids.length % 2 === 1 ? 'collection'
        : fields.length > 0 ? 'field' : 'document';
      const document = '/' + ids.map(idSegment).join('/');
      return { kind, ids, fields, document };
    }
    function placeURL(ids, query = {}) {
      if (ids.some((id) => id === '.' || id === '..')) throw new Error('No id is a dot, or two.');
      return '/v1/' + S.space + '/documents' + ids.map((id) => '/' + encodeURIComponent(id)).join('')
        + (Object.keys(query).length > 0 ? '?' + new URLSearchParams(query) : '');
    }
    const asJSON = { 'Content-Type': 'application/json' };
    const post = async (url, body) => (await ask(url, { method: 'POST', body, headers: asJSON })).json();

    // MARK: reading

    // The ids of the collections below a place, as many as are wanted and one more.
    async function collectionIDs(ids, limit) {
      const found = [];
      for (let pageToken = ''; found.length <= limit;) {
        const answer = await post(placeURL(ids) + ':listCollectionIds',
          JSON.stringify({ pageSize: Math.min(300, limit + 1 - found.length), pageToken }));
        found.push(...(answer.collectionIds || []));
        pageToken = answer.nextPageToken;
        if (!pageToken) break;
      }
      return found;
    }
    // The documents of a collection without their fields, missing ones that have something below them too.
    async function listed(ids, limit) {
      const found = [];
      for (let pageToken = ''; found.length <= limit;) {
        const answer = await (await ask(placeURL(ids, { showMissing: 'true', 'mask.fieldPaths': '',
          pageSize: Math.min(300, limit + 1 - found.length), pageToken }))).json();
        found.push(...(answer.documents || []).map((document) =>
          ({ id: document.name.slice(document.name.lastIndexOf('/') + 1), time: document.updateTime })));
        pageToken = answer.nextPageToken;
        if (!pageToken) break;
      }
      return found;
    }
    // A document as it is now; without pairs when it is missing.
    async function loadDocument(ids) {
      try {
        const text = await (await ask(placeURL(ids))).text();
        const document = JSON.parse(text);
        return { time: document.updateTime, size: text.length, pairs: pairsOf(document.fields || {}) };
      } catch (error) {
        if (error.status === 404) return { time: undefined, size: 0, pairs: null };
        throw error;
      }
    }
    // Does something with each, a few at a time.
    async function each(all, body) {
      const rest = [...all];
      const work = async () => { while (rest.length > 0) await body(rest.shift()); };
      await Promise.all([1, 2, 3, 4].map(work));
    }

    // The windows of open paths, all asked for anew; documents that have not changed are not.
    async function documentWindows(paths) {
      const places = paths.map((path) => ({ path, ...placeOf(path), limit: S.limits.get(path) || PAGE }));
      const [lists, below, times] = [new Map(), new Map(), new Map()];
      await each(places, async (place) => {
        if (place.kind === 'collection' && place.fields.length === 0) {
          const documents = await listed(place.ids, place.limit);
          lists.set(place.path, documents);
          for (const { id, time } of documents) times.set(join(place.path, idSegment(id)), time);
        } else if (place.kind === 'root' || place.kind === 'document') {
          below.set(place.path, await collectionIDs(place.ids, place.limit));
        }
      });
      const wanted = new Map(places.filter((place) => ['document', 'field'].includes(place.kind))
        .map((place) => [place.document, place.ids]));
      const edited = S.edit && placeOf(S.edit.path);
      const known = new Map();
      if (edited && D.documents.has(edited.document)) wanted.set(edited.document, edited.ids);
      await each(wanted, async ([path, ids]) => {
        const old = D.documents.get(path);
        const isKnown = old && times.has(path) && times.get(path) === old.time;
        known.set(path, isKnown ? old : await loadDocument(ids));
      });
      D.documents = known;
      return places.map((place) => ({ window: windowOf(place, lists.get(place.path),
        below.get(place.path), known.get(place.document)) }));
    }

    const closed = (key, note) => ({ key, type: 'object', note });
    const gone = () => ({ item: { type: 'null', words: 'nothing' }, children: [], more: false });
    const capped = (item, children, limit) =>
      ({ item, children: children.slice(0, limit), more: children.length > limit });
    function windowOf(place, documents, collections, document) {
      const limit = place.limit;
      if (place.kind === 'root') {
        if (place.fields.length > 0) return gone();
        return capped({ type: 'object', words: collections.length > limit ? '{…}'
          : '{' + plural(collections.length, 'collection') + '}' },
          collections.map((id) => closed(idSegment(id), 'collection')), limit);
      }
      if (place.kind === 'collection') {
        if (!documents) return gone();
        return capped({ type: 'object', note: 'collection', words: documents.length > limit ? '{…}'
          : '{' + plural(documents.length, 'document') + '}' },
          documents.map(({ id, time }) => closed(idSegment(id), time ? 'document' : 'missing document')),
          limit);
      }
      if (place.kind === 'field') {
        const value = document.pairs && childAt({ type: 'map', pairs: document.pairs }, place.fields);
        return value ? capped(itemOfValue(undefined, value), childItems(value), limit) : gone();
      }
      if (!document.pairs && collections.length === 0) return gone();
      const fields = childItems({ type: 'map', pairs: document.pairs || [] });
      const item = { type: 'object', note: document.pairs ? 'document' : 'missing document',
        words: document.pairs ? '{' + plural(fields.length, 'field') + '}' : '{…}' };
      item.count = collections.length > limit ? undefined : fields.length + collections.length;
      return capped(item, [...fields, ...collections.map((id) => closed(idSegment(id), 'collection'))],
        limit);
    }
    function itemOfValue(key, value) {
      const isOpen = value.type === 'map' || value.type === 'array';
      const item = { key, type: isOpen ? 'object' : 'value', look: LOOKS[value.type] || 'server',
        words: wordsOf(value), note: value.type };
      if (isOpen) item.count = (value.pairs || value.values).length;
      return item;
    }
    function childItems(value) {
      if (value.type === 'map') {
        return value.pairs.map(([name, one]) => itemOfValue(fieldSegment(name), one));
      }
      return (value.values || []).map((one, index) => itemOfValue(fieldSegment(String(index)), one));
    }
    // The value at names below a value; undefined when there is none.
    function childAt(value, names) {
      for (const name of names) {
        if (!value) return undefined;
        if (value.type === 'map') value = (value.pairs.find((pair) => pair[0] === name) || [])[1];
        else value = value.type === 'array' ? value.values[Number(name)] : undefined;
      }
      return value;
    }
    """#
}
