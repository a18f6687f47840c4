package import ConiferDocument
import ConiferKeyValue
package import ConiferTree

/// The paths of documents in their tree: the collection's path is one key, the document's id the next.
///
/// A numeric id is written so that it sorts by its number, before all texts: a zero byte and 16
/// hexadecimal digits. A text that begins with a zero byte gets 7F after it, so that it sorts after
/// the numbers.
package enum DocumentKey {
  private static let afterNumbers: UInt8 = 0x7F

  /// The path key of a document, in bytes.
  static func encode(_ path: DocumentPath) -> Bytes {
    var text = path.description
    let plain = text.withUTF8 { utf8 -> Bytes? in
      // Only ids that may be numeric, or are encoded differently, are decoded.
      guard let slash = utf8.lastIndex(of: UInt8(ascii: "/")), slash + 1 < utf8.count,
        utf8[slash + 1] != 0, utf8[slash + 1] != UInt8(ascii: "_")
      else { return nil }
      var bytes = Bytes()
      bytes.reserveCapacity(utf8.count + 3)
      PathKey.append(text: UnsafeBufferPointer(rebasing: utf8[..<slash]), .documents, to: &bytes)
      PathKey.append(
        text: UnsafeBufferPointer(rebasing: utf8[(slash + 1)...]), .documents, to: &bytes)
      return bytes
    }
    return plain ?? PathKey.encode(treePath(path), .documents)
  }

  /// The prefix of the path keys of a collection's documents.
  static func encode(_ collection: CollectionPath) -> Bytes {
    PathKey.encode(treePath(collection), .documents)
  }

  /// The path of a document in its tree.
  package static func treePath(_ path: DocumentPath) -> Path {
    Path([Key(path.collection.description), Key(key(ofID: path.id))])
  }

  /// The path above a collection's documents in their tree.
  package static func treePath(_ collection: CollectionPath) -> Path {
    Path([Key(collection.description)])
  }

  /// The path at or above a source's documents: that of the collection, that of the document, or the root for a group
  /// of collections.
  static func treePath(_ source: DocumentQuery.Source) -> Path {
    switch source {
    case .collection(let collection): treePath(collection)
    case .document(let document): treePath(document)
    case .group: .root
    }
  }

  /// The document that stands at a path of its tree, or nil when none can.
  package static func document(_ path: Path) -> DocumentPath? {
    guard path.count == 2, let id = id(ofKey: path.keys[1].string) else { return nil }
    let collection = path.keys[0].string
    // A key that no document can have must not be decoded as another document's.
    guard let document = DocumentPath(collection: collection, id: id),
      document.collection.description.utf8.elementsEqual(collection.utf8)
    else { return nil }
    return document
  }

  /// The document of a path key, or nil when it is none of a document.
  static func document(_ key: Bytes) -> DocumentPath? {
    PathKey.path(key, .documents).flatMap { document($0) }
  }

  /// The collection with a path, as a store holds it; nil when it is none.
  static func collection(_ text: String) -> CollectionPath? {
    guard let collection = try? CollectionPath(text),
      collection.description.utf8.elementsEqual(text.utf8)
    else { return nil }
    return collection
  }

  /// The collection whose documents' path keys begin with a prefix; nil when there is none.
  static func collection(_ start: Bytes) -> CollectionPath? {
    guard let path = PathKey.path(start, .documents), path.count == 1 else { return nil }
    return collection(path.keys[0].string)
  }

  /// The prefix of the path keys of a collection's documents, from the path key of one of them; nil
  /// for a key of the root.
  static func collection(of key: Bytes) -> Bytes? {
    key.withUnsafeBytes { bytes in PathKey.segmentEnd(bytes, 0).map { Bytes(bytes[..<$0]) } }
  }

  /// A segment of a path in the tree as it is in a document's path: the path of a collection, or an id.
  static func segment(_ key: String) -> String { id(ofKey: key) ?? key }

  private static func key(ofID id: String) -> String {
    if let number = NumericID.number(of: id) {
      let digits = String(UInt64(bitPattern: number) ^ 1 << 63, radix: 16)
      return "\0" + String(repeating: "0", count: 16 - digits.utf8.count) + digits
    }
    guard id.utf8.first == 0 else { return id }
    return String(decoding: [0, afterNumbers] + id.utf8.dropFirst(), as: UTF8.self)
  }

  fileprivate static func id(ofKey key: String) -> String? {
    guard key.utf8.first == 0 else { return NumericID.number(of: key) == nil ? key : nil }
    let rest = Array(key.utf8.dropFirst())
    if rest.first == afterNumbers { return String(decoding: [0] + rest.dropFirst(), as: UTF8.self) }
    guard let bits = UInt64(String(decoding: rest, as: UTF8.self), radix: 16) else { return nil }
    let id = NumericID.segment(of: Int64(bitPattern: bits ^ 1 << 63))
    return self.key(ofID: id).utf8.elementsEqual(key.utf8) ? id : nil
  }
}

/// Reads the path keys of documents one after the other; a collection is read anew only where it changes.
struct DocumentKeyReader {
  private var segment: Bytes = []
  private var collection: CollectionPath?

  /// The document of a path key, or nil when it is none of a document.
  mutating func document(_ key: UnsafeRawBufferPointer) -> DocumentPath? {
    guard let start = PathKey.segmentEnd(key, 0) else { return nil }
    if let collection, key.starts(with: segment) {
      guard PathKey.segmentEnd(key, start) == key.count,
        let id = PathKey.key(key, start..<key.count, .documents)
          .flatMap({ DocumentKey.id(ofKey: $0.string) })
      else { return nil }
      return DocumentPath(in: collection, id: id)
    }
    guard let path = DocumentKey.document(Bytes(key)) else { return nil }
    segment = Bytes(key[..<start])
    collection = path.collection
    return path
  }
}
