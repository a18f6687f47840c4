extension PageText {
  /// Values of documents: from and to the JSON of their REST API, and as text that is read and typed.
  static let values = #"""
    // The types of values, by their members in REST. A vector is a map there.
    const TYPES = { nullValue: 'null', booleanValue: 'boolean', integerValue: 'integer',
      doubleValue: 'double', timestampValue: 'timestamp', stringValue: 'string',
      bytesValue: 'bytes', referenceValue: 'reference', geoPointValue: 'geopoint',
      arrayValue: 'array', mapValue: 'map' };
    const MEMBERS = Object.fromEntries(Object.entries(TYPES).map(([member, type]) => [type, member]));
    const TYPE_NAMES = ['string', 'integer', 'double', 'boolean', 'null', 'timestamp', 'bytes',
      'reference', 'geopoint', 'array', 'vector', 'map'];
    const NUMBER = String.raw`-?(?:0|[1-9]\d*)(?:\.\d+)?(?:[eE][+-]?\d+)?`;

    // Texts in the order of their UTF-8, in which names of fields are sorted.
    function byUTF8(a, b) {
      const most = Math.min(a.length, b.length);
      for (let at = 0; at < most; at += 1) {
        let [x, y] = [a.charCodeAt(at), b.charCodeAt(at)];
        if (x === y) continue;
        // Halves of scalars above U+FFFF come behind all others.
        if (x >= 0xD800 && y >= 0xD800) [x, y] = [x, y].map((unit) => (unit + 0x2000) % 0x10000);
        return x - y;
      }
      return a.length - b.length;
    }
    // A number's shortest text; it keeps the sign of zero.
    const digits = (number) => Object.is(number, -0) ? '-0' : String(number);

    // Entries of a map are pairs: an object would sort numbers first, and has a name of its own (__proto__).
    const pairsOf = (fields) => Object.keys(fields).sort(byUTF8)
      .map((name) => [name, valueOf(fields[name])]);
    function valueOf(json) {
      const member = Object.keys(json)[0];
      const given = json[member];
      const type = TYPES[member];
      if (type === 'array') return { type, values: (given.values || []).map(valueOf) };
      if (type === 'geopoint') {
        return { type, latitude: digits(given.latitude || 0), longitude: digits(given.longitude || 0) };
      }
      if (type === 'double') return { type, text: digits(given) };
      if (type !== 'map') return { type, text: given === null ? 'null' : String(given) };
      const pairs = pairsOf(given.fields || {});
      const [mark, list] = pairs;
      if (pairs.length === 2 && mark[0] === '__type__' && mark[1].text === '__vector__') {
        return { type: 'vector', numbers: list[1].values.map((value) => value.text) };
      }
      return { type, pairs };
    }

    const fieldsJSON = (pairs, lines) => '{' + (lines ? '\n' : '') + pairs.map(([name, value]) =>
      (lines ? '  ' : '') + JSON.stringify(name) + ':' + (lines ? ' ' : '') + jsonOf(value))
      .join(lines ? ',\n' : ',') + (lines && pairs.length > 0 ? '\n' : '') + '}';
    const doubleJSON = (text) =>
      '{"doubleValue":' + (/\d/.test(text) ? text : JSON.stringify(text)) + '}';
    const vectorJSON = (numbers) => '{"mapValue":{"fields":{"__type__":{"stringValue":"__vector__"},'
      + '"value":{"arrayValue":{"values":[' + numbers.map(doubleJSON).join(',') + ']}}}}}';
    const geoJSON = (latitude, longitude) =>
      '{"geoPointValue":{"latitude":' + latitude + ',"longitude":' + longitude + '}}';
    function jsonOf(value) {
      switch (value.type) {
        case 'null': return '{"nullValue":null}';
        case 'boolean': return '{"booleanValue":' + value.text + '}';
        case 'double': return doubleJSON(value.text);
        case 'geopoint': return geoJSON(value.latitude, value.longitude);
        case 'vector': return vectorJSON(value.numbers);
        case 'array': return '{"arrayValue":{"values":[' + value.values.map(jsonOf).join(',') + ']}}';
        case 'map': return '{"mapValue":{"fields":' + fieldsJSON(value.pairs) + '}}';
        default: return '{"' + MEMBERS[value.type] + '":' + JSON.stringify(value.text) + '}';
      }
    }

    // MARK: read

    function cut(text, most) {
      if (text.length <= most) return text;
      const end = /[\uD800-\uDBFF]/.test(text[most - 1]) ? most - 1 : most;
      return text.slice(0, end) + ' …';
    }
    // A name of a document as a path where it is of the database that is shown.
    const ofSpace = (name) => name.startsWith(S.space + '/documents/')
      ? name.slice(S.space.length + 11) : name;
    function wordsOf(value) {
      switch (value.type) {
        case 'string': return JSON.stringify(cut(value.text, 256));
        case 'bytes': return cut(value.text, 64) + ' (' + bytes(byteCount(value.text)) + ')';
        case 'reference': return '→ ' + ofSpace(value.text).split('/').map(shown).join('/');
        case 'geopoint': return value.latitude + ', ' + value.longitude;
        case 'vector': return '[' + value.numbers.slice(0, 8).join(', ')
          + (value.numbers.length > 8 ? ', …' : '') + ']';
        case 'array': return '[' + plural(value.values.length, 'value') + ']';
        case 'map': return '{' + plural(value.pairs.length, 'field') + '}';
        default: return value.text;
      }
    }
    const byteCount = (text) => Math.floor(text.replace(/=+$/, '').length * 3 / 4);
    const LOOKS = { integer: 'number', double: 'number', string: 'string', boolean: 'boolean',
      null: 'null', array: 'object', map: 'object' };

    // MARK: typed

    // What an editor begins with.
    function textOf(value) {
      switch (value.type) {
        case 'null': return '';
        case 'reference': return ofSpace(value.text);
        case 'geopoint': return value.latitude + ', ' + value.longitude;
        case 'vector': return '[' + value.numbers.join(', ') + ']';
        case 'array': return '[' + value.values.map((one) => '\n  ' + jsonOf(one)).join(',')
          + (value.values.length > 0 ? '\n' : '') + ']';
        case 'map': return fieldsJSON(value.pairs, true);
        default: return value.text;
      }
    }
    const BLANKS = { null: '', boolean: 'true', integer: '0', double: '0', array: '[]', map: '{}',
      vector: '[0]', geopoint: '0, 0', bytes: '', string: '', reference: '' };
    const blank = (type) => type === 'timestamp' ? new Date().toISOString() : BLANKS[type];
    // The JSON of REST of a value that was typed, or what is wrong with it.
    function typedValue(type, text) {
      const trimmed = text.trim();
      const matches = (pattern) => new RegExp('^' + pattern + '$').test(trimmed);
      const wrong = (words) => { throw new Error(words); };
      switch (type) {
        case 'string': return '{"stringValue":' + JSON.stringify(text) + '}';
        case 'null': return '{"nullValue":null}';
        case 'boolean':
          if (!matches('(true|false)')) wrong('A boolean is true or false.');
          return '{"booleanValue":' + trimmed + '}';
        case 'integer': {
          // Not through a script's number: it would lose digits of large integers.
          if (!matches('[+-]?\\d+')) wrong('An integer is written in digits, such as 42.');
          const number = BigInt(trimmed.replace(/^\+/, ''));
          if (BigInt.asIntN(64, number) !== number) {
            wrong('An integer has 64 bits: from -9223372036854775808 to 9223372036854775807.');
          }
          return '{"integerValue":"' + number + '"}';
        }
        case 'double':
          if (matches('(NaN|-?Infinity)')) return doubleJSON(trimmed);
          if (!matches(NUMBER) || !Number.isFinite(Number(trimmed))) {
            wrong('A double is a number such as 2.5 or -1e3, or NaN, Infinity or -Infinity.');
          }
          return doubleJSON(trimmed);
        case 'timestamp':
          if (!matches('\\d{4}-\\d\\d-\\d\\d[Tt]\\d\\d:\\d\\d:\\d\\d(\\.\\d{1,9})?([Zz]|[+-]\\d\\d:\\d\\d)')) {
            wrong('A time is written as 2026-01-31T12:00:00.5Z.');
          }
          return '{"timestampValue":"' + trimmed.toUpperCase() + '"}';
        case 'bytes': {
          const packed = trimmed.replace(/\s/g, '');
          if (!/^[A-Za-z0-9+\/_-]*={0,2}$/.test(packed)) wrong('Bytes are text of base 64.');
          return '{"bytesValue":"' + packed + '"}';
        }
        case 'reference': {
          const path = trimmed.replace(/^\//, '');
          if (path === '') wrong('A reference is a path such as rooms/eros.');
          const name = path.startsWith('projects/') ? path : S.space + '/documents/' + path;
          return '{"referenceValue":' + JSON.stringify(name) + '}';
        }
        case 'geopoint': {
          const parts = new RegExp('^(' + NUMBER + ')\\s*,\\s*(' + NUMBER + ')$').exec(trimmed);
          if (!parts) wrong('A geopoint is latitude and longitude: 52.5, 13.4.');
          return geoJSON(parts[1], parts[2]);
        }
        case 'vector': {
          if (!matches('\\[\\s*(' + NUMBER + '\\s*(,\\s*' + NUMBER + '\\s*)*)?\\]')) {
            wrong('A vector is a list of numbers: [0.5, 1].');
          }
          return vectorJSON(trimmed.slice(1, -1).split(',').map((one) => one.trim())
            .filter((one) => one !== ''));
        }
        case 'array':
          if (!Array.isArray(parsed(trimmed))) wrong('An array is written as [{"integerValue": "1"}].');
          return '{"arrayValue":{"values":' + trimmed + '}}';
        default: return '{"mapValue":{"fields":' + typedFields(trimmed) + '}}';
      }
    }
    function parsed(text) {
      try { return JSON.parse(text); } catch (error) { throw new Error('No JSON: ' + error.message); }
    }
    // The fields of a document or a map as they are written in REST.
    function typedFields(text) {
      const given = parsed(text);
      if (given === null || typeof given !== 'object' || Array.isArray(given)) {
        throw new Error('Fields are written as {"name": {"stringValue": "Eros"}}.');
      }
      return text.trim();
    }
    """#
}
