#if Network && GRPC
  import ConiferDocument
  import ConiferFirestore

  /// What the demo's writes to documents leave behind, made one after the other.
  struct DocumentDemoState {
    typealias Fields = [String: DocumentValue]

    /// The fields of a note that the server's clock fills in.
    private static let time = "at"
    /// What stands for any time of the server.
    private static let anyTime = DocumentValue.string("a time")

    /// How many writes were made.
    private(set) var writes = 0
    /// The documents that they change, by path.
    private(set) var documents: [String: Fields]

    /// What is there before the first of them.
    init() { documents = [DocumentDemoWrites.totals: Self.fields(Self.totals)] }

    /// What is there after a number of writes.
    init(after count: Int) {
      self.init()
      while writes < count { apply() }
    }

    /// The fields of the document that the writes count in, before the first of them.
    static let totals: MapValue = ["notes": .integer(0), "pairs": .integer(0)]

    /// The documents of a collection, by path.
    func documents(in collection: String) -> [String: Fields] {
      documents.filter { $0.key.hasPrefix("\(collection)/") }
    }

    /// What differs from what a server has, in words: its first document that does; nil when nothing does.
    func difference(from found: [String: Fields]) -> String? {
      let paths = Set(documents.keys).union(found.keys).sorted()
      guard let path = paths.first(where: { documents[$0] != found[$0] }) else { return nil }
      func words(_ fields: Fields?) -> String {
        guard let fields else { return "nothing" }
        return fields.sorted { $0.key < $1.key }.map { "\($0.key) = \($0.value)" }
          .joined(separator: ", ")
      }
      return "\(path) is \(words(found[path])), and not \(words(documents[path]))"
    }

    /// The documents of a snapshot, by path, in the form in which they are compared.
    static func documents(_ snapshot: QuerySnapshot) -> [String: Fields] {
      Dictionary(
        uniqueKeysWithValues: snapshot.documents.map {
          ($0.reference.path, $0.document.fields.map(fields) ?? [:])
        })
    }

    /// The fields of a document in the form in which they are compared.
    static func fields(_ map: MapValue) -> Fields {
      var fields = Dictionary(uniqueKeysWithValues: map.fields.map { ($0.name, $0.value) })
      switch fields[time] {
      case .timestamp, .serverTimestamp: fields[time] = anyTime
      default: break
      }
      return fields
    }

    /// Makes the next write.
    mutating func apply() {
      writes += 1
      let step = DocumentDemoWrites.Step(writes)
      switch step.kind {
      case .note:
        documents[step.note] = [
          "text": .string(DocumentDemoWrites.text), "number": .integer(Int64(writes)),
          Self.time: Self.anyTime,
        ]
      case .merge:
        documents[step.note]?.merge(["likes": .integer(1), "seen": .boolean(true)]) { $1 }
      case .count: add(1, to: "notes")
      case .batch:
        for path in step.pair { documents[path] = ["number": .integer(Int64(writes))] }
        add(2, to: "pairs")
      case .delete: documents[step.note] = nil
      case .update: documents[step.note]?["text"] = .string(DocumentDemoWrites.newText)
      }
    }

    private mutating func add(_ number: Int64, to field: String) {
      guard case .integer(let old)? = documents[DocumentDemoWrites.totals]?[field] else { return }
      documents[DocumentDemoWrites.totals]?[field] = .integer(old + number)
    }
  }
#endif
