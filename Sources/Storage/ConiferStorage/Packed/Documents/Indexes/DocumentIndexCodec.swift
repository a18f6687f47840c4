import ConiferDocument
import ConiferKeyValue

/// Indexes of documents as bytes; Docs/Formats/Records.md has them byte by byte.
enum DocumentIndexCodec {
  private enum Kind {
    static let ascending: UInt8 = 1
    static let descending: UInt8 = 2
    static let contains: UInt8 = 3
  }

  private enum Flag {
    static let group: UInt8 = 1
    /// Whether names descend.
    static let descending: UInt8 = 2
  }

  static func append(_ index: DocumentIndex, to writer: inout ByteWriter) {
    writer.sized(index.collectionID)
    writer.byte(
      (index.scope == .group ? Flag.group : 0)
        | (index.nameDirection == .descending ? Flag.descending : 0))
    writer.varint(index.fields.count)
    for field in index.fields {
      switch field.kind {
      case .ascending: writer.byte(Kind.ascending)
      case .descending: writer.byte(Kind.descending)
      case .contains: writer.byte(Kind.contains)
      }
      writer.varint(field.path.names.count)
      for name in field.path.names { writer.sized(name) }
    }
  }

  static func index(_ reader: inout ByteReader) -> DocumentIndex? {
    guard let id = reader.text(), let flags = reader.byte(),
      flags & ~(Flag.group | Flag.descending) == 0, let count = reader.size()
    else { return nil }
    var fields: [DocumentIndex.Field] = []
    for _ in 0..<count {
      guard let field = field(&reader) else { return nil }
      fields.append(field)
    }
    let direction: DocumentIndex.Field.Kind =
      flags & Flag.descending == 0 ? .ascending : .descending
    fields.append(DocumentIndex.Field(.documentID, direction))
    return try? DocumentIndex(
      stored: id, fields, scope: flags & Flag.group == 0 ? .collection : .group)
  }

  private static func field(_ reader: inout ByteReader) -> DocumentIndex.Field? {
    let kind: DocumentIndex.Field.Kind
    switch reader.byte() {
    case Kind.ascending: kind = .ascending
    case Kind.descending: kind = .descending
    case Kind.contains: kind = .contains
    default: return nil
    }
    guard let count = reader.size() else { return nil }
    var names: [String] = []
    for _ in 0..<count {
      guard let name = reader.text() else { return nil }
      names.append(name)
    }
    return (try? FieldPath(names)).map { DocumentIndex.Field($0, kind) }
  }
}
