/// The slot into which one value is encoded. A container may be filled after the encoder has handed
/// it out.
package final class EncodingSlot {
  private enum Content {
    case scalar(Any?)
    case object([(key: String, slot: EncodingSlot)])
    case array([EncodingSlot])
  }

  private var content = Content.scalar(nil)
  /// Whether a type asked for two containers of different kinds: what it put into one of them is lost.
  private var mixesContainerKinds = false

  package init() {}

  package func set(_ scalar: Any?) {
    if isFilled { mixesContainerKinds = true }
    content = .scalar(scalar)
  }

  func beginObject() {
    if case .object = content { return }
    begin(.object([]))
  }

  func beginArray() {
    if case .array = content { return }
    begin(.array([]))
  }

  private func begin(_ new: Content) {
    if case .scalar(.some) = content { mixesContainerKinds = true }
    if isFilled { mixesContainerKinds = true }
    content = new
  }

  /// Whether it is a container in which there is something.
  private var isFilled: Bool {
    switch content {
    case .scalar: false
    case .object(let members): !members.isEmpty
    case .array(let elements): !elements.isEmpty
    }
  }

  func member(_ key: String) -> EncodingSlot {
    let slot = EncodingSlot()
    if case .object(var members) = content {
      content = .scalar(nil)
      members.append((key, slot))
      content = .object(members)
    } else {
      mixesContainerKinds = true
    }
    return slot
  }

  func element() -> EncodingSlot {
    let slot = EncodingSlot()
    if case .array(var elements) = content {
      content = .scalar(nil)
      elements.append(slot)
      content = .array(elements)
    } else {
      mixesContainerKinds = true
    }
    return slot
  }

  var count: Int {
    if case .array(let elements) = content { return elements.count }
    return 0
  }

  /// What was put in: dictionaries without the members that are nil, arrays, and scalars.
  ///
  /// - Parameter null: what stands in an array for an element that is nil.
  /// - Throws: `EncodingError` for two keys that Swift takes for one (they differ in their normal forms only), and for a
  ///   type that asked for containers of several kinds: some of what it put in would be lost.
  package func value(null: Any) throws -> Any? { try value(null, []) }

  private func value(_ null: Any, _ path: [any CodingKey]) throws -> Any? {
    if mixesContainerKinds {
      throw refused(
        path, "the type asked for containers of several kinds; encode it into one of them")
    }
    switch content {
    case .scalar(let value): return value
    case .array(let elements):
      return try elements.enumerated().map {
        try $1.value(null, path + [AnyCodingKey(intValue: $0)]) ?? null
      }
    case .object(let members):
      var dictionary = [String: Any](minimumCapacity: members.count)
      for (key, slot) in members {
        let value = try slot.value(null, path + [AnyCodingKey(stringValue: key)])
        if let known = dictionary.index(forKey: key),
          !dictionary.keys[known].utf8.elementsEqual(key.utf8)
        {
          throw refused(
            path,
            "two keys are \"\(key)\" in two normal forms of Unicode, which a dictionary takes for one; "
              + "write them one by one")
        }
        dictionary[key] = value
      }
      return dictionary
    }
  }

  private func refused(_ path: [any CodingKey], _ words: String) -> EncodingError {
    .invalidValue(self, .init(codingPath: path, debugDescription: words))
  }
}
