public import ConiferDocument
import ConiferKeyValue
import ConiferTree

extension WritePayload.Kind {
  /// Writes to documents: a `MutationBatch`.
  public static let documents = WritePayload.Kind(rawValue: 2)
}

/// The bytes of a batch of writes to documents: version, time, the bases and the writes. A write names its document
/// by its place among the touched paths.
extension MutationBatch {
  private static let version: UInt8 = 1

  /// The documents that the batch writes, each once, in the order of their first writes.
  package var paths: [DocumentPath] {
    var known: Set<DocumentPath> = []
    return (mutations + bases).map(\.path).filter { known.insert($0).inserted }
  }

  /// The batch as the queue keeps it.
  public var payload: WritePayload {
    let paths = paths
    let places = Dictionary(uniqueKeysWithValues: zip(paths, paths.indices))
    var writer = ByteWriter()
    writer.byte(Self.version)
    DocumentValueCodec.append(written, to: &writer)
    for list in [bases, mutations] {
      writer.varint(list.count)
      for mutation in list {
        writer.varint(places[mutation.path] ?? 0)
        MutationCodec.append(mutation, to: &writer)
      }
    }
    let touches = paths.map { DocumentKey.treePath($0) }
    return WritePayload(
      kind: .documents, path: touches.first ?? .root, touches: touches, bytes: writer.bytes)
  }

  /// The batch that a payload holds; nil when it is of another kind, or has something that this version does not
  /// read.
  public init?(_ payload: WritePayload) {
    guard payload.kind == .documents else { return nil }
    var paths: [DocumentPath] = []
    for touch in payload.touches {
      guard let path = DocumentKey.document(touch) else { return nil }
      paths.append(path)
    }
    let read = payload.bytes.withUnsafeBytes { bytes -> MutationBatch? in
      var reader = LentReader(bytes)
      guard reader.byte() == Self.version, let written = DocumentValueCodec.timestamp(&reader),
        let bases = Self.mutations(&reader, paths), let mutations = Self.mutations(&reader, paths),
        reader.remaining == 0
      else { return nil }
      return MutationBatch(written: written, bases: bases, mutations: mutations)
    }
    guard let read else { return nil }
    self = read
  }

  private static func mutations(
    _ reader: inout LentReader, _ paths: [DocumentPath]
  ) -> [Mutation]? {
    guard let count = reader.size(), count <= reader.remaining else { return nil }
    var mutations: [Mutation] = []
    for _ in 0..<count {
      guard let place = reader.size(), paths.indices.contains(place),
        let mutation = MutationCodec.mutation(&reader, of: paths[place])
      else { return nil }
      mutations.append(mutation)
    }
    return mutations
  }
}
