extension MapValue {
  /// The value at a field path; none when there is no such field.
  public subscript(path: FieldPath) -> DocumentValue? { self[path.names[...]] }

  subscript(names: ArraySlice<String>) -> DocumentValue? {
    guard let name = names.first, let value = self[name] else { return nil }
    if names.count == 1 { return value }
    return value.map?[names.dropFirst()]
  }

  /// The map with a value at a field path; what stands on the way and is no map becomes one.
  public func setting(_ path: FieldPath, to value: DocumentValue) -> MapValue {
    var map = self
    map.set(value, at: path.names[...])
    return map
  }

  /// The map without the field at a path; maps on the way stay, also when they become empty.
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
    var child = self[name]?.map ?? .empty
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
  public func taking(_ mask: FieldMask, from other: MapValue) -> MapValue {
    mask.paths.reduce(self) { map, path in
      other[path].map { map.setting(path, to: $0) } ?? map.removing(path)
    }
  }
}
