/// A map of names to values, sorted by the UTF-8 bytes of the names.
///
/// The fields of a document are such a map, and so is a map within a field.
public struct MapValue: Sendable {
  /// One entry of a map, which is a name and its value.
  public struct Field: Sendable, Hashable {
    /// The field's name.
    public let name: String
    /// The field's value.
    public let value: DocumentValue

    /// A field.
    public init(_ name: String, _ value: DocumentValue) {
      self.name = name
      self.value = value
    }

    /// Whether names and values are the same.
    public static func == (a: Field, b: Field) -> Bool {
      a.name.hasSameBytes(as: b.name) && a.value == b.value
    }

    /// Feeds what `==` compares.
    public func hash(into hasher: inout Hasher) {
      name.hashBytes(into: &hasher)
      hasher.combine(value)
    }
  }

  /// The fields, in the order of their names; no name is there twice.
  public internal(set) var fields: [Field]

  /// A map without fields.
  public static let empty = MapValue(sorted: [])

  /// A map of fields that are sorted already and have no name twice.
  init(sorted fields: [Field]) { self.fields = fields }

  /// A map.
  ///
  /// - Parameter pairs: names and values in any order; of a name that repeats the last one counts.
  public init(_ pairs: some Sequence<(String, DocumentValue)>) {
    self.init(pairs.map { Field($0, $1) })
  }

  /// A map.
  ///
  /// - Parameter fields: fields in any order; of a name that repeats the last one counts.
  public init(_ fields: [Field]) {
    let isSorted = zip(fields, fields.dropFirst()).allSatisfy {
      $0.name.compareUTF8($1.name) < 0
    }
    if isSorted {
      self.fields = fields
      return
    }
    // The sort is stable, so the last one of a name is the one before another name.
    var sorted = fields.sorted { $0.name.compareUTF8($1.name) < 0 }
    var count = 0
    for i in sorted.indices {
      if i + 1 < sorted.count, sorted[i].name.hasSameBytes(as: sorted[i + 1].name) { continue }
      sorted[count] = sorted[i]
      count += 1
    }
    sorted.removeLast(sorted.count - count)
    self.fields = sorted
  }

  /// The number of fields.
  public var count: Int { fields.count }
  /// Whether there is no field.
  public var isEmpty: Bool { fields.isEmpty }

  /// The value of a name; none when there is no such field.
  public subscript(name: String) -> DocumentValue? {
    get { index(of: name).map { fields[$0].value } }
    set {
      let place = place(of: name)
      switch (place.isFound, newValue) {
      case (true, let value?): fields[place.index] = Field(name, value)
      case (true, nil): fields.remove(at: place.index)
      case (false, let value?): fields.insert(Field(name, value), at: place.index)
      case (false, nil): break
      }
    }
  }

  private func index(of name: String) -> Int? {
    let place = place(of: name)
    return place.isFound ? place.index : nil
  }

  /// Where the name is, or where it belongs.
  func place(of name: String) -> (index: Int, isFound: Bool) {
    var (low, high) = (0, fields.count)
    while low < high {
      let middle = (low + high) / 2
      let order = fields[middle].name.compareUTF8(name)
      if order == 0 { return (middle, true) }
      if order < 0 { low = middle + 1 } else { high = middle }
    }
    return (low, false)
  }

  /// Orders two maps field by field, by name and then by value; a map that ends first comes first:
  /// negative, zero or positive.
  static func compare(_ a: MapValue, _ b: MapValue) -> Int {
    for i in 0..<min(a.count, b.count) {
      let names = a.fields[i].name.compareUTF8(b.fields[i].name)
      if names != 0 { return names }
      let values = DocumentValue.compare(a.fields[i].value, b.fields[i].value)
      if values != 0 { return values }
    }
    return a.count - b.count
  }
}

extension MapValue: Hashable, ExpressibleByDictionaryLiteral {
  /// A map; of a name that repeats the last one counts.
  public init(dictionaryLiteral elements: (String, DocumentValue)...) { self.init(elements) }
}
