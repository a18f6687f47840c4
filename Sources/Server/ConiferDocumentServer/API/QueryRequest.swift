package import ConiferDocument
package import ConiferWire

/// A query of a request, as the database is asked for it.
package struct QueryRequest: Sendable {
  /// What the database is asked for.
  package let query: DocumentQuery
  /// How many of the first documents are left out of the answer.
  package let offset: Int
  /// The fields that are answered; nil for all.
  package let mask: FieldMask?
  /// Whether no documents are asked for.
  package let isEmpty: Bool

  /// - Throws: `invalidArgument` when there are no parts, or no query has them.
  package init(
    _ parts: StructuredQuery?, below parent: DocumentPath?, in database: DatabaseID
  ) throws(StatusError) {
    guard var parts else {
      throw StatusError(.invalidArgument, "The request has no structuredQuery.")
    }
    isEmpty = parts.limit == 0
    // The service's numbers have 32 bits.
    offset = min(parts.offset, 1 << 31)
    mask = parts.fields.isEmpty ? nil : FieldMask(parts.fields)
    // What is left out is read too.
    if let limit = parts.limit { parts.limit = max(1, min(limit, 1 << 31) + offset) }
    do throws(DocumentError) { query = try parts.query(below: parent, in: database) } catch {
      throw StatusError(.invalidArgument, error.message)
    }
  }

  /// What is answered of the documents that the database gave.
  package func shown(_ found: [Document]) -> ArraySlice<Document> {
    isEmpty ? [] : found.dropFirst(offset)
  }

  /// How many documents of what the database gave were left out.
  package func skipped(_ found: [Document]) -> Int { min(offset, found.count) }
}
