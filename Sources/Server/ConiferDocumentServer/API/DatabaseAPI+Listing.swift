package import ConiferDocument
package import ConiferWire

extension DatabaseAPI {
  /// About how many bytes of documents a page has at most, and one document more.
  private static let maxBytes = 8 << 20
  /// The bytes of a page's token with the values that the last document is sorted by. A longer one, which might not fit into a
  /// URL, has the document's name and version instead.
  private static let longestToken = 16 << 10

  /// A part of a collection.
  ///
  /// - Parameters:
  ///   - collection: the collection.
  ///   - orders: what it is sorted by; by ids where these are none.
  ///   - showsMissing: whether documents that are missing and have something below them are listed too.
  ///   - size: how many documents at most.
  ///   - start: what came with the part before; nil for the first one.
  ///   - moment: as of when.
  /// - Throws: `invalidArgument` when `start` is of another list, `failedPrecondition` when it names a document that was changed
  ///   since, `resourceExhausted` when there is no memory for the page.
  package func page(
    of collection: CollectionPath, by orders: [DocumentQuery.Order] = [], showsMissing: Bool,
    size: Int, from start: [UInt8]?, _ moment: ReadMoment = .newest
  ) async throws(StatusError) -> ReadResult<DocumentPage> {
    let whole = DocumentQuery(.collection(collection), in: database)
    let query: DocumentQuery
    do throws(DocumentError) {
      // All orders are written out, as the place of a document has a value for each.
      query = try Self.sorted(whole, by: try Self.sorted(whole, by: orders).orders)
    } catch { throw StatusError(.invalidArgument, error.message) }
    let next = if let start { try continuing(query, from: start) } else { ListStart(query) }
    let wanted = PageSize(documents: size + 1, bytes: Self.maxBytes)
    if showsMissing {
      guard orders.isEmpty else {
        throw StatusError(
          .invalidArgument, "A list with missing documents has no order. Leave out one of them.")
      }
      return try await read(moment) { host, credentials, share throws(StatusError) in
        let (found, time) = try await host.children(
          of: collection, after: next.query.start.flatMap(Self.path), wanted, credentials, in: share
        )
        let page = try Self.page(found.map(\.answered), of: query, size)
        return (page, time, TransactionReads(whole.target, at: time))
      }
    }
    return try await read(moment) { host, credentials, share throws(StatusError) in
      let (found, time) = try await host.list(next, wanted, credentials, in: share)
      let page = try Self.page(found.map(\.answered), of: query, size)
      return (page, time, TransactionReads(whole.target, at: time))
    }
  }

  /// A part of the ids of the collections at the root, or directly below a document, in the order of their UTF-8.
  ///
  /// - Parameters:
  ///   - size: how many ids at most.
  ///   - start: what came with the part before; nil for the first one.
  package func collectionIDs(
    below parent: DocumentPath?, size: Int, from start: [UInt8]?, _ moment: ReadMoment = .newest
  ) async throws(StatusError) -> ReadResult<CollectionIDPage> {
    let last = start.map { String(decoding: $0, as: UTF8.self) }
    return try await read(moment) { host, credentials, _ throws(StatusError) in
      let (ids, time) = try await host.collectionIDs(
        below: parent, after: last, limit: size + 1, credentials)
      let shown = Array(ids.prefix(size))
      let page = CollectionIDPage(
        ids: shown, next: ids.count > size ? shown.last.map { Array($0.utf8) } : nil)
      return (page, time, TransactionReads())
    }
  }

  private static func sorted(
    _ query: DocumentQuery, by orders: [DocumentQuery.Order]
  ) throws(DocumentError) -> DocumentQuery {
    var sorted = query
    for order in orders { sorted = try sorted.ordered(by: order.field, order.direction) }
    return sorted
  }

  /// The list from behind the part that a client has.
  private func continuing(
    _ query: DocumentQuery, from start: [UInt8]
  ) throws(StatusError) -> ListStart {
    do throws(StatusError) {
      let found = try DocumentQuery(json: start)
      if found.database == database, found.source == query.source,
        found.explicitOrders == query.explicitOrders, let cursor = found.start
      {
        if let last = Self.named(cursor, found.end, of: query) {
          return ListStart(query, after: last)
        }
        if found.end == nil {
          do throws(DocumentError) {
            return ListStart(try query.starting(after: cursor.values))
          } catch {}
        }
      }
    } catch {}
    throw StatusError(
      .invalidArgument,
      "The page token is of another list, or damaged. Send the one of the last page, with the same order."
    )
  }

  /// The last document of a page whose token names it: the token begins with the name, and ends with the version.
  private static func named(
    _ start: DocumentQuery.Cursor, _ end: DocumentQuery.Cursor?, of query: DocumentQuery
  ) -> ListStart.Last? {
    guard case .reference(let name)? = start.values.first, name.database == query.database,
      case .collection(name.path.collection) = query.source,
      case .timestamp(let version)? = end?.values.first
    else { return nil }
    return ListStart.Last(path: name.path, version: version)
  }

  private static func path(of cursor: DocumentQuery.Cursor) -> DocumentPath? {
    guard case .reference(let name)? = cursor.values.last else { return nil }
    return name.path
  }

  /// The documents of one page, of which there is one more when it is not the last one.
  private static func page(
    _ found: [Document], of query: DocumentQuery, _ size: Int
  ) throws(StatusError) -> DocumentPage {
    var bytes = 0
    let fitting = found.prefix(size).prefix { document in
      defer { bytes += document.fields?.size ?? 0 }
      return bytes < maxBytes
    }
    guard fitting.count < found.count, let last = fitting.last else {
      return DocumentPage(documents: Array(fitting), next: nil)
    }
    let behind: DocumentQuery
    do throws(DocumentError) {
      let name = DocumentValue.reference(DocumentName(last.path, in: query.database))
      behind = try last.fields == nil ? query.starting(after: [name]) : query.starting(after: last)
      if behind.json.count > longestToken, query.explicitOrders.count > 1 {
        let named = try query.starting(after: [name]).ending(at: [.timestamp(last.version)])
        return DocumentPage(documents: Array(fitting), next: named.json)
      }
    } catch { throw StatusError(.internal, error.message) }
    return DocumentPage(documents: Array(fitting), next: behind.json)
  }
}
