/// Where a value goes that is being encoded; containers are filled after they were given out.
package final class EncodingSlot {
  private enum Content {
    case scalar(Any?)
    case object([(key: String, slot: EncodingSlot)])
    case array([EncodingSlot])
  }

  private var content = Content.scalar(nil)

  package init() {}

  package func set(_ scalar: Any?) { content = .scalar(scalar) }

  func beginObject() {
    if case .object = content { return }
    content = .object([])
  }

  func beginArray() {
    if case .array = content { return }
    content = .array([])
  }

  package func member(_ key: String) -> EncodingSlot {
    let slot = EncodingSlot()
    if case .object(var members) = content {
      content = .scalar(nil)
      members.append((key, slot))
      content = .object(members)
    }
    return slot
  }

  package func element() -> EncodingSlot {
    let slot = EncodingSlot()
    if case .array(var elements) = content {
      content = .scalar(nil)
      elements.append(slot)
      content = .array(elements)
    }
    return slot
  }

  package var count: Int {
    if case .array(let elements) = content { return elements.count }
    return 0
  }

  /// What was put in: dictionaries without the members that are nil, arrays, and scalars.
  ///
  /// - Parameter null: what stands in an array for an element that is nil.
  package func value(null: Any) -> Any? {
    switch content {
    case .scalar(let value): return value
    case .array(let elements): return elements.map { $0.value(null: null) ?? null }
    case .object(let members):
      var dictionary = [String: Any](minimumCapacity: members.count)
      for (key, slot) in members { dictionary[key] = slot.value(null: null) }
      return dictionary
    }
  }
}
