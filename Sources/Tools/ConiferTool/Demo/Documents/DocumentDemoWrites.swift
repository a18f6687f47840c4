#if Network && GRPC
  import ConiferFirestore

  /// The writes that the demo of documents makes: in rounds of a set, a merge, an increment, a batch, and a deletion or an
  /// update.
  enum DocumentDemoWrites {
    /// The document that counts notes and pairs.
    static let totals = "totals/demo"
    /// The document that another client deletes meanwhile, so that the server refuses its update.
    static let lent = "shelf/lent"
    /// The collection that it is in.
    static let shelf = "shelf"
    /// The collections that the writes change.
    static let collections = ["notes", "pairs", "totals"]
    /// How many writes are a round.
    static let round = 5
    static let text = "made offline"
    static let newText = "made offline, then changed"

    /// Which write it is.
    struct Step {
      enum Kind {
        case note, merge, count, batch, delete, update
      }

      let kind: Kind
      /// The round's note.
      let note: String
      /// The round's pair of documents.
      let pair: [String]

      /// The step of a write.
      ///
      /// - Parameter number: the write's number, from 1.
      init(_ number: Int) {
        let (round, place) = ((number - 1) / round + 1, (number - 1) % round)
        note = "notes/note-\(round)"
        pair = ["pairs/pair-\(round)-left", "pairs/pair-\(round)-right"]
        kind =
          switch place {
          case 0: .note
          case 1: .merge
          case 2: .count
          case 3: .batch
          default: round.isMultiple(of: 2) ? .update : .delete
          }
      }
    }

    /// Queues a write.
    ///
    /// - Parameter number: which one, from 1.
    static func enqueue(_ number: Int, _ client: Firestore) -> WriteReceipt {
      let step = Step(number)
      let note = client.document(step.note)
      switch step.kind {
      case .note:
        return note.enqueue(
          .set(["text": text, "number": number, "at": FieldValue.serverTimestamp()]))
      case .merge:
        return note.enqueue(.set(["likes": FieldValue.increment(1), "seen": true], merge: true))
      case .count:
        return client.document(totals).enqueue(.update(["notes": FieldValue.increment(1)]))
      case .batch:
        let batch = client.batch()
        for path in step.pair {
          batch.setData(["number": number], forDocument: client.document(path))
        }
        batch.updateData(["pairs": FieldValue.increment(2)], forDocument: client.document(totals))
        return batch.enqueue()
      case .delete: return note.enqueue(.delete)
      case .update: return note.enqueue(.update(["text": newText]))
      }
    }

    /// Queues the write that the server refuses.
    static func enqueueRefused(_ client: Firestore) -> WriteReceipt {
      client.document(lent).enqueue(.update(["text": newText]))
    }
  }
#endif
