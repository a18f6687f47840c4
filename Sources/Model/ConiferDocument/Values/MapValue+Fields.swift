extension MapValue {
  /// The value at a field path; none when there is no such field.
  public subscript(path: FieldPath) -> DocumentValue? { self[path.names[...]] }

  subscript(names: ArraySlice<String>) -> DocumentValue? {
    guard let name = names.first, let value = self[name] else { return nil }
    if names.count == 1 { return value }
    return value.map?[names.dropFirst()]
  }

  /// The map with a value at a field path; enclosing values that are not maps are replaced by maps.
  public func setting(_ path: FieldPath, to value: DocumentValue) -> MapValue {
    var map = self
    map.set(value, at: path)
    return map
  }

  /// Sets a value at a field path; what stands on the way and is no map becomes one. Nothing is copied where nobody
  /// else holds the map.
  package mutating func set(_ value: DocumentValue, at path: FieldPath) {
    set(value, at: path.names[...])
  }

  /// The map without the field at a path; the enclosing maps stay, even when they become empty.
  public func removing(_ path: FieldPath) -> MapValue {
    var map = self
    map.remove(path.names[...])
    return map
  }

  private mutating func set(_ value: DocumentValue, at names: ArraySlice<String>) {
    guard let name = names.first else { return }
    if names.count == 1 {
      self[name] = value
      return
    }
    var child = MapValue.empty
    let place = place(of: name)
    if place.isFound, case .map(let map) = fields[place.index].value {
      child = map
      // The child alone holds its fields now, so they are changed in place.
      fields[place.index] = Field(name, .null)
    }
    child.set(value, at: names.dropFirst())
    self[name] = .map(child)
  }

  private mutating func remove(_ names: ArraySlice<String>) {
    guard let name = names.first else { return }
    if names.count == 1 {
      self[name] = nil
    } else if var child = self[name]?.map {
      child.remove(names.dropFirst())
      self[name] = .map(child)
    }
  }

  /// The map with the fields of a mask taken from another one: those that it lacks are removed.
  ///
  /// It is made in one pass, whose cost grows with the fields and the mask's paths, not with their product.
  public func taking(_ mask: FieldMask, from other: MapValue) -> MapValue {
    taking(mask.paths[...], from: other, depth: 0)
  }

  /// - Parameters:
  ///   - paths: sorted; they have the same names down to a depth, at which this map and the other one are.
  private func taking(
    _ paths: ArraySlice<FieldPath>, from other: MapValue, depth: Int
  ) -> MapValue {
    var taken: [Field] = []
    var passed = 0
    var rest = paths
    while let name = rest.first?.names[depth] {
      let inner = rest.prefix { $0.names[depth].hasSameBytes(as: name) }
      rest = rest[inner.endIndex...]
      let place = place(of: name)
      taken += fields[passed..<place.index]
      passed = place.index + (place.isFound ? 1 : 0)
      // A nil beside a value would be the value null.
      let own: DocumentValue? = place.isFound ? .some(fields[place.index].value) : .none
      if let value = MapValue.value(own, taking: inner, from: other[name], depth: depth + 1) {
        taken.append(Field(name, value))
      }
    }
    taken += fields[passed...]
    return MapValue(sorted: taken)
  }

  /// A value with what paths that lead to it or into it take from another one.
  private static func value(
    _ own: DocumentValue?, taking paths: ArraySlice<FieldPath>, from other: DocumentValue?,
    depth: Int
  ) -> DocumentValue? {
    // A path stands before those within it, which add nothing to it.
    if paths.first?.names.count == depth { return other }
    let inner = other?.map ?? .empty
    if let map = own?.map { return .map(map.taking(paths, from: inner, depth: depth)) }
    // What is no map becomes one only when something is put into it.
    let taken = MapValue.empty.taking(paths, from: inner, depth: depth)
    return taken.isEmpty ? own : .map(taken)
  }
}
