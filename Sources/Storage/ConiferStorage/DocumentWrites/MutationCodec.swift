import ConiferDocument
import ConiferKeyValue

/// Writes to documents as bytes, without their paths; Docs/Formats/Documents.md has them byte by byte.
enum MutationCodec {
  /// What is written; the numbers are part of the format.
  private enum Change {
    static let set: UInt8 = 1
    static let patch: UInt8 = 2
    static let delete: UInt8 = 3
    static let verify: UInt8 = 4
  }

  private enum Condition {
    static let none: UInt8 = 0
    static let exists: UInt8 = 1
    static let isMissing: UInt8 = 2
    static let updateTime: UInt8 = 3
  }

  private enum Operation {
    static let serverTimestamp: UInt8 = 1
    static let increment: UInt8 = 2
    static let minimum: UInt8 = 3
    static let maximum: UInt8 = 4
    static let arrayUnion: UInt8 = 5
    static let arrayRemove: UInt8 = 6
  }

  static func append(_ mutation: Mutation, to writer: inout ByteWriter) {
    switch mutation.precondition {
    case .none: writer.byte(Condition.none)
    case .exists(let exists): writer.byte(exists ? Condition.exists : Condition.isMissing)
    case .updateTime(let time):
      writer.byte(Condition.updateTime)
      DocumentValueCodec.append(time, to: &writer)
    }
    switch mutation.change {
    case .set(let fields, let transforms):
      writer.byte(Change.set)
      DocumentValueCodec.append(fields, to: &writer)
      append(transforms, to: &writer)
    case .patch(let fields, let mask, let transforms):
      writer.byte(Change.patch)
      DocumentValueCodec.append(fields, to: &writer)
      append(mask, to: &writer)
      append(transforms, to: &writer)
    case .delete: writer.byte(Change.delete)
    case .verify: writer.byte(Change.verify)
    }
  }

  /// The next write, to a document; nil when the bytes are none.
  static func mutation(_ reader: inout LentReader, of path: DocumentPath) -> Mutation? {
    let precondition: Precondition
    switch reader.byte() {
    case Condition.none: precondition = .none
    case Condition.exists: precondition = .exists(true)
    case Condition.isMissing: precondition = .exists(false)
    case Condition.updateTime:
      guard let time = DocumentValueCodec.timestamp(&reader) else { return nil }
      precondition = .updateTime(time)
    default: return nil
    }
    let change: Mutation.Change
    switch reader.byte() {
    case Change.set:
      guard let fields = DocumentValueCodec.map(&reader), let transforms = transforms(&reader)
      else { return nil }
      change = .set(fields, transforms)
    case Change.patch:
      guard let fields = DocumentValueCodec.map(&reader), let mask = mask(&reader),
        let transforms = transforms(&reader)
      else { return nil }
      change = .patch(fields, mask, transforms)
    case Change.delete: change = .delete
    case Change.verify: change = .verify
    default: return nil
    }
    return Mutation(path, change, if: precondition)
  }

  static func append(_ mask: FieldMask, to writer: inout ByteWriter) {
    writer.varint(mask.paths.count)
    for path in mask.paths { append(path, to: &writer) }
  }

  static func mask(_ reader: inout LentReader) -> FieldMask? {
    guard let count = reader.size(), count <= reader.remaining else { return nil }
    var paths: [FieldPath] = []
    for _ in 0..<count {
      guard let path = field(&reader) else { return nil }
      paths.append(path)
    }
    return FieldMask(paths)
  }

  private static func append(_ path: FieldPath, to writer: inout ByteWriter) {
    writer.varint(path.names.count)
    for name in path.names { writer.sized(name) }
  }

  private static func field(_ reader: inout LentReader) -> FieldPath? {
    // As many as values nest: what is set there is written as a value.
    guard let count = reader.size(), count <= DocumentLimits.depth + 1 else { return nil }
    var names: [String] = []
    for _ in 0..<count {
      guard let name = reader.text() else { return nil }
      names.append(name)
    }
    return try? FieldPath(names)
  }

  private static func append(_ transforms: [FieldTransform], to writer: inout ByteWriter) {
    writer.varint(transforms.count)
    for transform in transforms {
      append(transform.field, to: &writer)
      let (code, operand): (UInt8, DocumentValue?) =
        switch transform.operation {
        case .serverTimestamp: (Operation.serverTimestamp, nil)
        case .increment(let number): (Operation.increment, DocumentValue(number))
        case .minimum(let number): (Operation.minimum, DocumentValue(number))
        case .maximum(let number): (Operation.maximum, DocumentValue(number))
        case .arrayUnion(let elements): (Operation.arrayUnion, .array(elements))
        case .arrayRemove(let elements): (Operation.arrayRemove, .array(elements))
        }
      writer.byte(code)
      if let operand { DocumentValueCodec.append(operand, to: &writer) }
    }
  }

  private static func transforms(_ reader: inout LentReader) -> [FieldTransform]? {
    guard let count = reader.size(), count <= reader.remaining else { return nil }
    var transforms: [FieldTransform] = []
    for _ in 0..<count {
      guard let field = field(&reader), let code = reader.byte(),
        let operation = operation(code, &reader)
      else { return nil }
      transforms.append(FieldTransform(field, operation))
    }
    return transforms
  }

  private static func operation(
    _ code: UInt8, _ reader: inout LentReader
  ) -> FieldTransform.Operation? {
    if code == Operation.serverTimestamp { return .serverTimestamp }
    guard let operand = DocumentValueCodec.value(&reader) else { return nil }
    switch (code, operand) {
    case (Operation.arrayUnion, .array(let elements)): return .arrayUnion(elements)
    case (Operation.arrayRemove, .array(let elements)): return .arrayRemove(elements)
    case (Operation.increment, _): return operand.number.map { .increment($0) }
    case (Operation.minimum, _): return operand.number.map { .minimum($0) }
    case (Operation.maximum, _): return operand.number.map { .maximum($0) }
    default: return nil
    }
  }
}
