package import ConiferDocument

/// What a write does, without what may come before or behind it in the text.
package enum WriteKind {
  case update(DocumentPath, MapValue)
  case delete(DocumentPath)
  case verify(DocumentPath)
  case transform(DocumentPath)

  /// The write; nil for a mask or transforms where there can be none.
  package func mutation(
    _ mask: FieldMask?, _ transforms: [FieldTransform], _ precondition: Precondition
  ) -> Mutation? {
    switch self {
    case .update(let path, let fields):
      if let mask { return Mutation(path, .patch(fields, mask, transforms), if: precondition) }
      return Mutation(path, .set(fields, transforms), if: precondition)
    case .transform(let path) where mask == nil:
      return Mutation(path, .patch(.empty, .empty, transforms), if: precondition)
    case .delete(let path) where mask == nil && transforms.isEmpty:
      return Mutation(path, .delete, if: precondition)
    case .verify(let path) where mask == nil && transforms.isEmpty:
      return Mutation(path, .verify, if: precondition)
    case .delete, .verify, .transform: return nil
    }
  }
}
